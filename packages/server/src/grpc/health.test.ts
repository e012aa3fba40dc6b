import { once } from 'node:events';
import { ChannelCredentials, status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { GrpcClient, LimitingService, openDoor } from './grpc-door.test-support.ts';

const rateLimit = 'envoy.service.ratelimit.v3.RateLimitService';

async function open(choices: Parameters<typeof openDoor>[1] = {}) {
  const service = new LimitingService();
  const opened = await openDoor(service, { options: { watchEveryMs: 5 }, ...choices });
  return { ...opened, service, client: new GrpcClient(opened.address) };
}

describe('Check', () => {
  test.each(['', rateLimit])('knows %j', async (name) => {
    const { client, service } = await open();
    expect(await client.check(name)).toEqual({ status: 'SERVING' });
    service.isReady = false;
    expect(await client.check(name)).toEqual({ status: 'NOT_SERVING' });
  });

  test('does not find others', async () => {
    const { client } = await open();
    await expect(client.check('shop')).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  test('a readiness that cannot be told is NOT_SERVING', async () => {
    const { address, log } = await openDoor({ readiness: () => Promise.reject(new Error('gone')) });
    expect(await new GrpcClient(address).check()).toEqual({ status: 'NOT_SERVING' });
    expect(log).toMatchObject([{ level: 'warn', fields: { err: { message: 'gone' } } }]);
  });
});

describe('Watch', () => {
  test('tells now, and again when it changes, and nothing in between', async () => {
    const { client, service } = await open();
    const watch = client.watch(rateLimit);
    const seen: string[] = [];
    watch.on('data', ({ status }) => seen.push(status));
    watch.on('error', () => undefined);
    await once(watch, 'data');
    service.isReady = false;
    await once(watch, 'data');
    service.isReady = true;
    await once(watch, 'data');
    expect(seen).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
    watch.cancel();
  });

  test('does not know others, and stays', async () => {
    const { client, service } = await open();
    const watch = client.watch('shop');
    watch.on('error', () => undefined);
    const [first] = await once(watch, 'data');
    expect(first).toEqual({ status: 'SERVICE_UNKNOWN' });
    service.isReady = false;
    const other = client.watch();
    other.on('error', () => undefined);
    // When this one was told, the other has been looked at too.
    expect(await once(other, 'data')).toEqual([{ status: 'NOT_SERVING' }]);
    expect(watch.readableLength).toBe(0);
    watch.cancel();
    other.cancel();
  });

  test('has room for as many as may connect, for one of each connection beyond, and again when one leaves', async () => {
    const { client, address } = await open({ limits: { connections: 3 }, options: { watchEveryMs: 5 } });
    const watches = [client.watch(), client.watch(), client.watch()];
    for (const watch of watches) {
      watch.on('error', () => undefined);
      await once(watch, 'data');
    }
    const [refused] = await once(client.watch().resume(), 'error');
    expect(refused).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: 'at most 3 may watch at once' });
    const other = new GrpcClient(address, ChannelCredentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    const first = other.watch();
    first.on('error', () => undefined);
    expect(await once(first, 'data')).toEqual([{ status: 'SERVING' }]);
    const [second] = await once(other.watch().resume(), 'error');
    expect(second).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    first.cancel();
    watches[0]!.cancel();
    let isWatching = false;
    while (!isWatching) {
      const again = client.watch();
      isWatching = await new Promise((resolve) => {
        again.on('data', () => resolve(true)).on('error', () => resolve(false));
      });
      if (isWatching) again.cancel();
    }
    for (const watch of watches) watch.cancel();
  });

  test('a drain is told, and ends the watch', async () => {
    const { client, door } = await open();
    const watch = client.watch();
    const seen: string[] = [];
    watch.on('data', ({ status }) => seen.push(status));
    await once(watch, 'data');
    const ended = once(watch, 'error');
    await door.drain(10_000);
    expect((await ended)[0]).toMatchObject({ code: status.UNAVAILABLE, details: 'the service is ending' });
    expect(seen).toEqual(['SERVING', 'NOT_SERVING']);
  });
});
