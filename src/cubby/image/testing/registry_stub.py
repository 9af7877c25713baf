#!/usr/bin/env python3
"""A registry that misbehaves on request, for tests of the client.

Serves an OCI layout under /v2/NAME/. Options are words on the command line:

  token        wants a bearer token, which /token gives for user "me", password "secret"
  basic        wants basic authorisation with the same
  redirect     sends blobs from a second port, and refuses them there with an Authorization header
  drop=N       breaks the first N blob answers in the middle
  busy=N       answers the first N requests with 429
  slow         sends blobs 64 KiB at a time, 20 ms apart
  noranges     knows no Range header
  wrong        serves blobs with one byte changed

Prints its port, then one line "blob DIGEST FROM BYTES" per blob answer.
"""
import base64
import http.server
import json
import os
import sys
import threading
import time

layout = sys.argv[1]
options = dict(word.partition("=")[::2] for word in sys.argv[2:])
counters = {key: int(value) for key, value in options.items() if value}
lock = threading.Lock()
BASIC = "Basic " + base64.b64encode(b"me:secret").decode()
second_port = None


def take(counter):
    with lock:
        left = counters.get(counter, 0)
        counters[counter] = left - 1
        return left > 0


def log(line):
    with lock:
        print(line, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def authorized(self):
        given = self.headers.get("Authorization", "")
        if "token" in options and given != "Bearer good":
            realm = f"http://127.0.0.1:{self.server.server_port}/token"
            self.answer(401, WWW_Authenticate=f'Bearer realm="{realm}",service="stub"')
            return False
        if "basic" in options and given != BASIC:
            self.answer(401, WWW_Authenticate='Basic realm="stub"')
            return False
        return True

    def do_GET(self):
        if take("busy"):
            return self.answer(429, Retry_After="0")
        if self.path.startswith("/token"):
            if self.headers.get("Authorization") != BASIC:
                return self.answer(401)
            return self.answer(200, json.dumps({"token": "good"}).encode())
        kind, name = self.path.split("/")[-2:]
        if self.server.server_port == second_port:
            if self.headers.get("Authorization"):
                return self.answer(400, b"credentials leaked")
        elif not self.authorized():
            return None
        if kind == "manifests":
            return self.manifest(name)
        if "redirect" in options and self.server.server_port != second_port:
            return self.answer(307, Location=f"http://127.0.0.1:{second_port}{self.path}")
        return self.blob(name)

    def manifest(self, name):
        if name == "index":
            name = json.load(open(f"{layout}/index.json"))["manifests"][0]["digest"]
        path = f"{layout}/blobs/sha256/{name.removeprefix('sha256:')}"
        if not os.path.exists(path):
            return self.answer(404)
        body = open(path, "rb").read()
        return self.answer(200, body, Content_Type=json.loads(body)["mediaType"])

    def blob(self, name):
        path = f"{layout}/blobs/sha256/{name.removeprefix('sha256:')}"
        if not os.path.exists(path):
            return self.answer(404)
        body = bytearray(open(path, "rb").read())
        if "wrong" in options:
            body[-1] ^= 1
        start = 0
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and "noranges" not in options:
            start = int(wanted[6:].rstrip("-"))
        sent = body[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        if take("drop"):
            sent = sent[: len(sent) // 2]
        count = 0
        try:
            for at in range(0, len(sent), 65536):
                piece = sent[at : at + 65536]
                self.wfile.write(piece)
                count += len(piece)
                if "slow" in options:
                    self.wfile.flush()
                    time.sleep(0.02)
        except OSError:
            pass
        log(f"blob {name} {start} {count}")
        if start + count < len(body):
            self.close_connection = True
            self.connection.close()


first = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
second = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
second_port = second.server_port
threading.Thread(target=second.serve_forever, daemon=True).start()
log(str(first.server_port))
first.serve_forever()
