import { createServer, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { listenProblem } from './listen-problem.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

/** What listening there comes to: the error, or the port. */
function listen(host: string, port: number): Promise<NodeJS.ErrnoException | number> {
  const server = createServer();
  open.push(server);
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => resolve((server.address() as { port: number }).port));
  });
}

const doorsAt = (host: string, port: number) => [
  { setting: 'listen.http', flag: '--http', address: { host: '127.0.0.1', port: 0 } },
  { setting: 'listen.resp', flag: '--resp', address: { host, port } },
];

it('names the setting of a port that is in use', async () => {
  const port = (await listen('127.0.0.1', 0)) as number;
  const error = await listen('127.0.0.1', port);
  expect(listenProblem(error, doorsAt('127.0.0.1', port))).toBe(
    `Port ${port} (listen.resp) is in use. Choose another, such as --resp 0 for any free one, or end what listens there.`,
  );
});

it.each([
  ['203.0.113.7', 0],
  ['203.0.113.7', 6380],
])('names the setting of an address that is not this machine’s: %s:%d', async (host, port) => {
  const error = await listen(host, port);
  expect(listenProblem(error, doorsAt(host, port))).toBe(
    `${host} (listen.resp) is no address of this machine. Choose one that is, such as --resp 0.0.0.0:${port} for all of them.`,
  );
});

it('tells doors on one port apart by their hosts', async () => {
  const doors = doorsAt('203.0.113.7', 6380).map((door) => ({ ...door, address: { ...door.address, port: 6380 } }));
  expect(listenProblem(await listen('203.0.113.7', 6380), doors)).toContain('203.0.113.7 (listen.resp) is no address');
});

it('passes on what is not about listening', () => {
  expect(listenProblem(new Error('The disk is full.'), doorsAt('127.0.0.1', 1))).toBe('The disk is full.');
});
