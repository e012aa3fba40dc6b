import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RedisSentinel, startSentinel } from './redis-sentinel.ts';
import { waitUntil } from './wait-until.ts';

let sentinel: RedisSentinel;
beforeAll(async () => {
  sentinel = await startSentinel({ name: 'orders' });
});
afterAll(() => sentinel?.stop());

test('three sentinels name the same primary, which has a replica', async () => {
  const primary = await sentinel.primary();
  expect(sentinel.name).toBe('orders');
  expect(sentinel.sentinels.length).toBe(3);
  expect(primary).toBe(sentinel.servers[0]);
  expect(await primary.call('SET', 'key', 'value')).toBe('OK');
  expect(await primary.call('WAIT', 1, 5000)).toBe(1);
  await expect(sentinel.servers[1]!.call('SET', 'key', 'other')).rejects.toThrow('READONLY');
});

test('a planned failover exchanges the roles and keeps the data', async () => {
  const old = await sentinel.primary();
  await old.call('SET', 'planned', 'kept');
  const next = await sentinel.failover();
  expect(next).not.toBe(old);
  expect(await sentinel.primary()).toBe(next);
  expect(await next.call('GET', 'planned')).toBe('kept');
  await expect(old.call('SET', 'key', 'other')).rejects.toThrow('READONLY');
});

test('a killed primary is replaced, and when it is back there is one primary with its replica again', async () => {
  const old = await sentinel.primary();
  await old.kill();
  const next = await sentinel.waitForPromotion(old);
  expect(await next.call('SET', 'key', 'after')).toBe('OK');
  await old.restart();
  // Mostly the one that replaced it stays. On a machine that stands still for a second the sentinels take that one for dead, too.
  await waitUntil('the primary has a replica', async () => {
    const primary = await sentinel.primary();
    return (await primary.call('WAIT', 1, 100)) === 1;
  });
  const primary = await sentinel.primary();
  const replica = sentinel.servers.find((server) => server !== primary)!;
  await expect(replica.call('SET', 'key', 'other')).rejects.toThrow('READONLY');
});
