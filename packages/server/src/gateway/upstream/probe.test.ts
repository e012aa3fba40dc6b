import type { AddressInfo } from 'node:net';
import { waitUntil } from '@sluice/test-servers';
import { afterEach, describe, expect, it } from 'vitest';
import type { ActiveHealthConfig } from '../../config/gateway-config.ts';
import { probeOf } from './probe.ts';
import { answering, closeAll, type Member, member, memberProcess } from './upstream.test-support.ts';

afterEach(closeAll);

const config: ActiveHealthConfig = {
  path: '/healthz?deep',
  intervalMs: 1000,
  timeoutMs: 20_000,
  unhealthyAfter: 3,
  healthyAfter: 2,
  statusFrom: 200,
  statusTo: 299,
};

function addressOf({ server }: Member) {
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

describe('a probe', () => {
  it('is a GET on a connection of its own, which is closed afterwards', async () => {
    const upstream = await answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    const address = addressOf(upstream);
    expect(await probeOf(config)(address, new AbortController().signal)).toBe(true);
    expect(upstream.sides[0]!.received).toBe(
      `GET /healthz?deep HTTP/1.1\r\nhost: 127.0.0.1:${address.port}\r\nconnection: close\r\nuser-agent: sluice-health\r\n\r\n`,
    );
    await waitUntil('it is closed', () => upstream.sides[0]!.isClosed || upstream.sides[0]!.isEnded);
  });

  it.each([
    ['HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n', true],
    ['HTTP/1.1 299 Fine\r\n\r\n', true],
    ['HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n', true],
    ['HTTP/1.1 300 Elsewhere\r\ncontent-length: 0\r\n\r\n', false],
    ['HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n', false],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\n', false],
    ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', false],
    ['220 mail.example.com ESMTP\r\n\r\n', false],
    [`HTTP/1.1 200 OK\r\na: ${'x'.repeat(20_000)}`, false],
  ])('takes %j for %s', async (text, isWell) => {
    expect(await probeOf(config)(addressOf(await answering(text)))).toBe(isWell);
  });

  it('of a member that hangs up without an answer is a no', async () => {
    const upstream = await member({}, (side) => side.socket.end());
    expect(await probeOf(config)(addressOf(upstream))).toBe(false);
  });

  it('of a member that stands still is a no after its time', async () => {
    const { port, stop } = await memberProcess('response.end();');
    await stop();
    expect(await probeOf({ ...config, timeoutMs: 50 })({ host: '127.0.0.1', port })).toBe(false);
  });

  it('of a member that is dead is a no', async () => {
    const { port, kill } = await memberProcess('response.end();');
    const probe = probeOf(config);
    expect(await probe({ host: '127.0.0.1', port })).toBe(true);
    await kill();
    expect(await probe({ host: '127.0.0.1', port })).toBe(false);
  });

  it('that is not wanted any more is a no at once', async () => {
    const upstream = await member();
    const wanted = new AbortController();
    const asked = probeOf(config)(addressOf(upstream), wanted.signal);
    await upstream.requested();
    wanted.abort();
    expect(await asked).toBe(false);
    expect(await probeOf(config)(addressOf(upstream), wanted.signal)).toBe(false);
  });
});
