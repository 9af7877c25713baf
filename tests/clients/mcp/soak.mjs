// Mixed load on one MCP session for a while, with memory that must stay flat:
// soak.mjs CUBBY STATE IMAGE SECONDS
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [cubby, state, image, seconds] = process.argv.slice(2);
const transport = new StdioClientTransport({
  command: cubby, args: ['--state-dir', state, 'mcp', '--image', image], stderr: 'inherit' });
const client = new Client({ name: 'cubby-soak', version: '1' });
await client.connect(transport);

const residentMiB = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${transport.pid}/status`, 'utf8'))[1]) / 1024;
const call = async (name, args = {}) => {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, false, `${name}: ${JSON.stringify(result.content)}`);
  return result.content[0].text;
};

// One of everything, a few at once, also large ones.
async function round(i) {
  const path = `f${i % 50}.txt`;
  await call('write_file', { path, content: `round ${i}\n`.repeat(1000) });
  await Promise.all([
    call('bash', { command: `wc -c ${path}; seq 20000` }),
    call('read_file', { path }),
    call('grep', { pattern: `round ${i}\\b`, max_results: 500 }),
    call('glob', { pattern: '*.txt' }),
    call('ls'),
    call('upload_file', { path: 'large', content_base64: 'QUJD'.repeat(100000) }),
  ]);
  await call('str_replace', { path, old_str: `round ${i}\nround`, new_str: 'edited', replace_all: true });
}

const end = Date.now() + Number(seconds) * 1000;
let i = 0;
while (i < 30) await round(i++); // what is made once is made
const before = residentMiB();
while (Date.now() < end) await round(i++);
const after = residentMiB();
await client.close();
console.log(`${i} rounds, ${before.toFixed(1)} MiB before, ${after.toFixed(1)} MiB after`);
assert.ok(after < before + 8, 'memory grows');
