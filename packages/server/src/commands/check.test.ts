/** `sluice check` as people type it: the built program. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { programs } from '../programs.ts';

async function sluice(...args: string[]) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [programs.main, ...args], (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

const policy = '{"algorithm":"smooth","limit":2,"window":"1s"}';

// biome-ignore format: a row is a slip
test.each([
  [['check', '--url', 'localhost:8080', 'user=1'], '--url must be an address such as http://127.0.0.1:8080, got "localhost:8080".'],
  [['check', '--url', 'here', 'user=1'],           '--url must be an address such as http://127.0.0.1:8080, got "here".'],
  [['check', '--key', 'ann'],                      '--key is whom a --policy limits. Rules are asked about fields: user=ann, not --key ann.'],
  [['constructor'],                                "error: unknown command 'constructor'\n(add --help for the options)"],
  [['__proto__'],                                  "error: unknown command '__proto__'\n(add --help for the options)"],
] as const)('%j is bad usage, and is told in a sentence', async (args, message) => {
  expect(await sluice(...args)).toEqual({ code: 2, stdout: '', stderr: `${message}\n` });
});

test('what is no Sluice has not answered', async () => {
  const server = createServer((_, response) => void response.writeHead(404).end('<html>')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const stderr = `${url} answered 404 without JSON. Is it a Sluice?\n`;
    expect(await sluice('check', '--url', url, 'user=1')).toEqual({ code: 1, stdout: '', stderr });
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('a delay is told in whole milliseconds', async () => {
  const { code, stdout } = await sluice('check', '--policy', policy, '--times', '2');
  expect([code, stdout.split('\n').at(-2)]).toEqual([0, expect.stringMatching(/^ {2}ad-hoc {2}yes, in \d+ ms; /)]);
});
