import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { type RespConnection, respConnection } from './resp.ts';
import { waitUntil } from './wait-until.ts';

let server: RedisServer;
let proxy: FaultProxy;
let client: RespConnection;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());

beforeEach(async () => {
  await server.call('FLUSHALL');
  proxy = await startFaultProxy(server);
  client = reconnected();
});
afterEach(() => proxy?.stop());

const reconnected = () => respConnection({ host: proxy.host, port: proxy.port, timeoutMs: 20_000 });

/** Whether a promise is still open once the server has answered others and the event loop has gone round. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settled = () => {
    isSettled = true;
  };
  promise.then(settled, settled);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await server.call('PING');
  return !isSettled;
}

async function serverTimeMs(call: Promise<unknown>): Promise<number> {
  const [seconds, microseconds] = (await call) as [string, string];
  return Number(seconds) * 1000 + Number(microseconds) / 1000;
}

test('what is sent arrives, whole and in order, both ways', async () => {
  const megabytes = 'abcdefgh'.repeat(600_000);
  const replies = [client.call(['SET', 'large', megabytes]), client.call(['GET', 'large']), client.call(['PING'])];
  const [set, large, ping] = await Promise.all(replies);
  expect([set, large === megabytes, ping]).toEqual(['OK', true, 'PONG']);
});

test('a delayed reply comes late, though the request was executed at once', async () => {
  proxy.delayMs = 300;
  const executedMs = await serverTimeMs(client.call(['TIME']));
  // One less, because Date.now() rounds down.
  expect(Date.now() - executedMs).toBeGreaterThanOrEqual(299);
});

test('a delayed request is executed late', async () => {
  await client.call(['PING']);
  proxy.requestDelayMs = 200;
  const sentMs = Date.now();
  expect((await serverTimeMs(client.call(['TIME']))) - sentMs).toBeGreaterThanOrEqual(200);
});

test('a shorter delay does not let a later reply overtake', async () => {
  proxy.delayMs = 200;
  const order: string[] = [];
  const first = client.call(['ECHO', 'first']).then((reply) => order.push(String(reply)));
  await new Promise((resolve) => setTimeout(resolve, 50));
  proxy.delayMs = 0;
  const second = client.call(['ECHO', 'second']).then((reply) => order.push(String(reply)));
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});

test('nothing passes a black hole, and what was sent arrives when it is gone', async () => {
  await client.call(['PING']);
  proxy.blackhole();
  const reply = client.call(['SET', 'key', 'value']);
  const newcomer = reconnected().call(['PING']);
  expect(await isPending(reply)).toBe(true);
  expect(await isPending(newcomer)).toBe(true);
  expect(await server.call('GET', 'key')).toBeNull();
  proxy.resume();
  expect(await reply).toBe('OK');
  expect(await newcomer).toBe('PONG');
  expect(await server.call('GET', 'key')).toBe('value');
});

test('dropped replies: the server has executed what the client never hears of', async () => {
  await client.call(['PING']);
  const untouched = reconnected();
  await untouched.call(['PING']);
  proxy.dropReplies();
  const reply = client.call(['SET', 'key', 'value']);
  await waitUntil('the server has executed it', async () => (await server.call('GET', 'key')) === 'value');
  expect(await isPending(reply)).toBe(true);
  proxy.resume();
  await expect(reply).rejects.toThrow('ECONNRESET');
  expect(await untouched.call(['PING'])).toBe('PONG');
});

test('a cut resets every connection, and new ones are served', async () => {
  const other = reconnected();
  await Promise.all([client.call(['PING']), other.call(['PING'])]);
  expect(proxy.connectionCount).toBe(2);
  proxy.dropReplies();
  const replies = [client.call(['INCR', 'key']), other.call(['INCR', 'key'])];
  await waitUntil('the server has executed both', async () => (await server.call('GET', 'key')) === '2');
  proxy.cut();
  for (const reply of replies) await expect(reply).rejects.toThrow('ECONNRESET');
  expect(proxy.connectionCount).toBe(0);
  proxy.resume();
  expect(await reconnected().call(['PING'])).toBe('PONG');
});

test('a client of a dead server is told so', async () => {
  const doomed = await startRedis();
  const toDoomed = await startFaultProxy(doomed);
  const connection = respConnection({ host: toDoomed.host, port: toDoomed.port, timeoutMs: 20_000 });
  await connection.call(['PING']);
  await doomed.kill();
  await waitUntil('the connection has ended', () => !connection.isOpen);
  const late = respConnection({ host: toDoomed.host, port: toDoomed.port, timeoutMs: 20_000 });
  await expect(late.call(['PING'])).rejects.toThrow(/ECONNRESET|closed/);
  await toDoomed.stop();
  await doomed.stop();
});

test('a closed connection is forgotten', async () => {
  await client.call(['PING']);
  client.close();
  await waitUntil('the proxy has forgotten it', () => proxy.connectionCount === 0);
});
