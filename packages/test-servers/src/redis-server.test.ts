import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
import { ReplyError } from './resp.ts';
import { waitUntil } from './wait-until.ts';

const started: RedisServer[] = [];
afterEach(() => Promise.all(started.splice(0).map((server) => server.stop())));

async function redis(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  started.push(server);
  return server;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a server answers with what it was told, and refuses what it must', async () => {
  const server = await redis();
  expect(await server.call('SET', 'greeting', 'good\r\nmorning ☀')).toBe('OK');
  expect(await server.call('GET', 'greeting')).toBe('good\r\nmorning ☀');
  expect(await server.call('GET', 'nothing')).toBeNull();
  expect(await server.call('INCRBY', 'count', 41)).toBe(41);
  expect(await server.call('EVAL', 'return {1, {"two", false}}', 0)).toEqual([1, ['two', null]]);
  await expect(server.call('INCR', 'greeting')).rejects.toThrow(ReplyError);
  await expect(server.call('INCR', 'greeting')).rejects.toThrow('ERR value is not an integer');
});

test('calls that are made at once are answered in order', async () => {
  const server = await redis();
  const replies = await Promise.all(Array.from({ length: 500 }, () => server.call('INCR', 'count')));
  expect(replies).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
});

test('servers side by side have ports of their own, on loopback only', async () => {
  const servers = await Promise.all([redis(), redis(), redis()]);
  expect(new Set(servers.map(({ port }) => port)).size).toBe(3);
  await servers[0]!.call('SET', 'who', 'first');
  expect(await servers[1]!.call('GET', 'who')).toBeNull();
  expect(await servers[0]!.call('CONFIG', 'GET', 'bind')).toEqual(['bind', '127.0.0.1']);
});

test('the configuration is what was asked for', async () => {
  const server = await redis({ config: { 'maxmemory-policy': 'allkeys-lru', user: ['ann on >x +@all', 'bob off'] } });
  expect(await server.call('CONFIG', 'GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'allkeys-lru']);
  expect(await server.call('CONFIG', 'GET', 'save')).toEqual(['save', '']);
  expect(await server.call('ACL', 'USERS')).toEqual(['ann', 'bob', 'default']);
});

test('a server with a password is reached with it', async () => {
  const server = await redis({ config: { requirepass: 'sesame' } });
  expect(await server.call('SET', 'key', 'value')).toBe('OK');
});

test('a configuration that cannot work is an error that quotes the server', async () => {
  await expect(startRedis({ config: { 'maxmemory-policy': 'nonsense' } })).rejects.toThrow(/maxmemory-policy/);
  await expect(startRedis({ config: { port: 6379 } })).rejects.toThrow('config.port must not be set');
});

test('a restart without persistence forgets', async () => {
  const server = await redis();
  const { pid, port } = server;
  await server.call('SET', 'key', 'value');
  await server.restart();
  expect(await server.call('GET', 'key')).toBeNull();
  expect(server.port).toBe(port);
  expect(server.pid).not.toBe(pid);
  expect(isAlive(pid)).toBe(false);
});

test('a restart with an append-only file remembers, after kill -9 too', async () => {
  const server = await redis({ config: { appendonly: 'yes', appendfsync: 'always' } });
  await server.call('SET', 'key', 'value');
  await server.kill();
  expect(server.state).toBe('ended');
  await expect(server.call('GET', 'key')).rejects.toThrow('ECONNREFUSED');
  await server.restart();
  expect(await server.call('GET', 'key')).toBe('value');
});

test('a paused server accepts connections and answers nothing until it is resumed', async () => {
  const server = await redis();
  await server.pause();
  expect(server.state).toBe('paused');
  const socket = connect(server.port, server.host);
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text;
  });
  socket.write('PING\r\n');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(answer).toBe('');
  server.resume();
  await waitUntil('the server answers', () => answer === '+PONG\r\n');
  socket.destroy();
});

test('a stopped server is gone, with its folder, even when it was paused', async () => {
  const server = await startRedis();
  await server.pause();
  await server.stop();
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(existsSync(server.folder)).toBe(false);
});
