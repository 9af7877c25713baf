// A whole MCP session with the official TypeScript SDK as the client: session_test.mjs CUBBY STATE IMAGE
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [cubby, state, image] = process.argv.slice(2);
const share = mkdtempSync(join(tmpdir(), 'cubby-mcp-'));
const cubbyNow = (...words) => {
  const run = spawnSync(cubby, ['--state-dir', state, ...words], { encoding: 'utf8' });
  return { code: run.status, out: run.stdout, err: run.stderr };
};
// Those of our own sessions: other tests make theirs beside us.
const label = `mcp-test=${process.pid}`;
const machines = () => JSON.parse(cubbyNow('ps', '--json').out)
  .filter((machine) => machine.labels['mcp-test'] === `${process.pid}`);

async function connect(...options) {
  const transport = new StdioClientTransport({
    command: cubby,
    args: ['--state-dir', state, 'mcp', '--image', image, '--label', label, ...options],
    stderr: 'inherit',
  });
  const client = new Client({ name: 'cubby-test', version: '1' });
  await client.connect(transport);
  return client;
}
const call = (client, name, args = {}, options = {}) =>
  client.callTool({ name, arguments: args }, undefined, options);
const textOf = (result) => result.content[0].text;

async function toolsWork(client) {
  assert.equal(client.getServerVersion().name, 'cubby');
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ['bash', 'ls', 'read_file', 'write_file', 'str_replace', 'glob', 'grep', 'sandbox_create',
      'sandbox_list', 'sandbox_destroy', 'upload_file', 'download_file']);
  assert.equal(tools[0].inputSchema.required.includes('command'), true);
  assert.equal(machines().length, 0, 'no sandbox before the first use');
  assert.equal(textOf(await call(client, 'write_file', { path: 'a/f.txt', content: 'one\ntwo\n' })), 'OK');
  assert.equal(machines().length, 1);
  const ran = await call(client, 'bash', { command: 'cat a/f.txt; echo oops >&2; exit 3' });
  assert.equal(textOf(ran), 'one\ntwo\n\nStd Error:\noops\n\nExit Code: 3');
  assert.equal(ran.structuredContent.exit_code, 3);
  assert.equal(ran.isError, false);
  assert.equal(textOf(await call(client, 'read_file', { path: 'a/f.txt', start_line: 2 })), 'two\n');
  assert.equal(textOf(await call(client, 'str_replace', { path: 'a/f.txt', old_str: 'two', new_str: '2' })), 'OK');
  assert.match(textOf(await call(client, 'grep', { pattern: '^2' })), /a\/f\.txt:2: 2/);
  assert.match(textOf(await call(client, 'glob', { pattern: '*.txt' })), /Found 1 paths/);
  assert.match(textOf(await call(client, 'ls')), /workspace\/a\//);
  const missing = await call(client, 'read_file', { path: '/none' });
  assert.equal(missing.isError, true);
  await assert.rejects(call(client, 'no_such_tool'), /no tool/);
  await assert.rejects(call(client, 'bash', { comand: 'x' }), /command is needed/);
  await assert.rejects(client.request({ method: 'no/such' }, undefined), /no such method/i);
}

async function longCommandsReportAndCanBeCancelled(client) {
  const reports = [];
  await call(client, 'bash', { command: 'sleep 2.5' }, { onprogress: (report) => reports.push(report.progress) });
  assert.ok(reports.length >= 1 && reports.every((value, i) => value === i + 1), `${reports}`);
  const abort = new AbortController();
  const cancelled = call(client, 'bash', { command: 'touch started; sleep 987; touch ended' }, { signal: abort.signal });
  while (textOf(await call(client, 'glob', { pattern: 'started' })).startsWith('no path'));
  abort.abort('enough');
  await assert.rejects(cancelled, /enough/);
  // Everything that it started dies.
  const running = () => call(client, 'bash', { command: "ps | grep -c '[s]leep 987' || true" });
  const deadline = Date.now() + 20000;
  while (textOf(await running()).trim() !== '0') assert.ok(Date.now() < deadline, 'it goes on');
}

async function filesComeAndGo(client) {
  const png = Buffer.from('89504e470d0a1a0a00ff', 'hex');
  const path = '/mnt/user-data/outputs/a picture.png';
  await call(client, 'upload_file', { path, content_base64: png.toString('base64') });
  const shown = await call(client, 'download_file', { path });
  assert.deepEqual(shown.content[0], { type: 'image', mimeType: 'image/png', data: png.toString('base64') });
  const { resources } = await client.listResources();
  assert.equal(resources.length, 1);
  assert.equal(resources[0].name, 'a picture.png');
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert.equal(contents[0].blob, png.toString('base64'));
  assert.equal(contents[0].mimeType, 'image/png');
  await assert.rejects(client.readResource({ uri: resources[0].uri.replace('outputs', 'workspace') }), /no such resource/);
  await assert.rejects(client.readResource({ uri: resources[0].uri.replace('a%20picture.png', '../workspace/a/f.txt') }));
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);

  writeFileSync(join(share, 'in'), 'from the host');
  symlinkSync('/etc/passwd', join(share, 'link'));
  assert.equal(textOf(await call(client, 'upload_file', { path: 'in', host_path: join(share, 'in') })), 'OK, 13 bytes');
  for (const host_path of ['/etc/passwd', join(share, 'link'), join(share, '../x')]) {
    const refused = await call(client, 'upload_file', { path: 'x', host_path });
    assert.equal(refused.isError, true, host_path);
  }
  assert.equal(textOf(await call(client, 'download_file', { path, host_path: join(share, 'out.png') })), 'OK, 10 bytes');
  assert.deepEqual(readFileSync(join(share, 'out.png')), png);
  const outside = await call(client, 'download_file', { path: '/etc/passwd' });
  assert.equal(outside.isError, true, 'only what is below /mnt/user-data');
}

async function sandboxesAreTheSessionsOwn(client) {
  const other = textOf(await call(client, 'sandbox_create'));
  assert.match(textOf(await call(client, 'sandbox_list')), new RegExp(`${other}\n`));
  assert.equal(textOf(await call(client, 'bash', { command: 'ls', sandbox: other })), '(no output)');
  const stranger = cubbyNow('create', '--image', image).out.trim();
  const refused = await call(client, 'bash', { command: 'ls', sandbox: stranger });
  assert.equal(refused.isError, true, "another session's is not reached");
  assert.equal((await call(client, 'sandbox_destroy', { sandbox: stranger })).isError, true);
  cubbyNow('rm', stranger);
  assert.equal(textOf(await call(client, 'sandbox_destroy', { sandbox: other })), 'OK');
  assert.equal((await call(client, 'bash', { command: 'ls', sandbox: other })).isError, true);
}

async function aDeadSandboxIsReplaced(client) {
  const id = (await call(client, 'sandbox_list')).structuredContent.sandboxes[0].sandbox;
  assert.equal(cubbyNow('rm', id).code, 0);
  const told = await call(client, 'bash', { command: 'true' });
  assert.equal(told.isError, true);
  assert.match(textOf(told), /has died/);
  assert.equal(textOf(await call(client, 'bash', { command: 'echo new' })), 'new\n');
}

async function manyCallsAtOnce(client) {
  const texts = await Promise.all([...Array(24).keys()].map(async (i) =>
    textOf(await call(client, 'bash', { command: `echo ${i}` }))));
  assert.deepEqual(texts, [...Array(24).keys()].map((i) => `${i}\n`));
}

const client = await connect('--share', share);
for (const part of [toolsWork, longCommandsReportAndCanBeCancelled, filesComeAndGo,
  sandboxesAreTheSessionsOwn, aDeadSandboxIsReplaced, manyCallsAtOnce]) {
  await part(client);
  console.log(`ok ${part.name}`);
}
await client.close();
const deadline = Date.now() + 20000;
while (machines().length > 0) assert.ok(Date.now() < deadline, 'a sandbox is left');
console.log('ok nothing is left');

// An existing sandbox is used and left alone.
const kept = cubbyNow('create', '--image', image).out.trim();
const guest = await connect('--sandbox', kept);
assert.equal(textOf(await call(guest, 'bash', { command: 'echo here > kept; cat kept' })), 'here\n');
assert.equal((await call(guest, 'sandbox_destroy', { sandbox: kept })).isError, true);
await guest.close();
assert.equal(cubbyNow('read', kept, 'kept').out, 'here\n');
cubbyNow('rm', kept);
console.log('ok an existing sandbox stays');
rmSync(share, { recursive: true });
