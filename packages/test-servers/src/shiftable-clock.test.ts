import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RedisServer, startRedis } from './redis-server.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis({ shiftableClock: true });
});
afterAll(() => server?.stop());

/** How far TIME is from the true time: between what it was before the question and after the answer. */
async function offsetMs(read: () => Promise<[string, string]>): Promise<{ least: number; most: number }> {
  const beforeMs = Date.now();
  const [seconds, microseconds] = await read();
  const serverMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
  return { least: serverMs - Date.now() - 1, most: serverMs - beforeMs };
}

async function expectOffset(wantedMs: number): Promise<void> {
  const inScript = () => server.call<[string, string]>('EVAL', "return redis.call('TIME')", 0);
  for (const read of [() => server.call<[string, string]>('TIME'), inScript]) {
    const { least, most } = await offsetMs(read);
    expect(least).toBeLessThanOrEqual(wantedMs);
    expect(most).toBeGreaterThanOrEqual(wantedMs);
  }
}

test('TIME jumps by the offset while the server runs, in scripts too, and back', async () => {
  await expectOffset(0);
  for (const offset of [2500, -2500, 200.5, 86_400_000, -86_400_000, 0]) {
    server.shiftClock(offset);
    await expectOffset(offset);
  }
});

test('a key expires by the shifted clock', async () => {
  await server.call('SET', 'key', 'value', 'PX', 60_000);
  server.shiftClock(30_000);
  expect(await server.call('GET', 'key')).toBe('value');
  expect(await server.call('PTTL', 'key')).toBeLessThanOrEqual(30_000);
  server.shiftClock(60_001);
  expect(await server.call('GET', 'key')).toBeNull();
  server.shiftClock(0);
});

test('the event loop keeps the monotonic clock, which does not jump', async () => {
  server.shiftClock(-3_600_000);
  const startMs = performance.now();
  expect(await server.call('BLPOP', 'nothing', 0.05)).toBeNull();
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(49);
  server.shiftClock(0);
  expect(await server.call('INFO', 'server')).toMatch(/monotonic_clock:POSIX clock_gettime/);
});

test('the shift survives a restart', async () => {
  server.shiftClock(10_000);
  await server.restart();
  await expectOffset(10_000);
  server.shiftClock(0);
});

test('a server without it says so, and its clock is the true one', async () => {
  const plain = await startRedis();
  expect(() => plain.shiftClock(1)).toThrow('Start it with shiftableClock: true');
  const { least, most } = await offsetMs(() => plain.call<[string, string]>('TIME'));
  expect(least).toBeLessThanOrEqual(0);
  expect(most).toBeGreaterThanOrEqual(0);
  await plain.stop();
});

test('an offset that cannot be is refused', () => {
  expect(() => server.shiftClock(Number.NaN)).toThrow('offsetMs must be a number within');
});
