import { describe, expect, it } from 'vitest';
import type { Client, Exchange } from '../exchange.ts';
import { forwardingHeaders, viaOf } from './forwarding-headers.ts';

const client: Client = { address: '203.0.113.9', port: 1, localPort: 80, isTls: false, protocol: 'HTTP/1.1' };

function sent(headers: string[], isFromProxy = false, own: Partial<Client> = {}, authority = 'a.example') {
  const request = { method: 'GET', target: '/', authority, headers };
  const list = forwardingHeaders({ request, client: { ...client, ...own } } as unknown as Exchange, isFromProxy);
  const pairs = list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]] as const] : []));
  return { list, of: (name: string) => pairs.filter(([one]) => one === name).map(([, value]) => value) };
}

describe('what a member is told of the client', () => {
  const rows: [client: Partial<Client>, authority: string, forwarded: string][] = [
    [{}, 'a.example', 'for=203.0.113.9;proto=http;host=a.example'],
    [{}, 'a.example:8000', 'for=203.0.113.9;proto=http;host="a.example:8000"'],
    [{}, '', 'for=203.0.113.9;proto=http'],
    [{ isTls: true }, 'a.example', 'for=203.0.113.9;proto=https;host=a.example'],
    [{ address: '2001:db8::1' }, '[::1]:80', 'for="[2001:db8::1]";proto=http;host="[::1]:80"'],
    [{ address: '::ffff:203.0.113.9' }, 'a.example', 'for=203.0.113.9;proto=http;host=a.example'],
  ];
  it.each(rows)('of %o to %j: %s', (own, authority, forwarded) => {
    expect(sent([], false, own, authority).of('forwarded')).toEqual([forwarded]);
  });

  const claims = [
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-forwarded-port',
    'x-real-ip',
  ];
  it.each([...claims, 'true-client-ip', 'x_forwarded_for', 'x-forwarded_for', 'x_real_ip', 'x.real~ip'])(
    '%s of a stranger is taken out',
    (name) => {
      expect(sent([name, 'made-up']).list).not.toContain('made-up');
    },
  );

  it.each(['x_forwarded_for', 'x-forwarded_for', 'x_real_ip', 'x.forwarded.for'])(
    '%s is taken out also where a proxy passed it on',
    (name) => {
      expect(sent([name, 'made-up', 'x-real-ip', '1.1.1.1', 'x_other', '1'], true).list).toEqual(
        sent(['x-real-ip', '1.1.1.1', 'x_other', '1'], true).list,
      );
    },
  );

  it('several lines of a proxy are one list, in their order', () => {
    const { of } = sent(['x-forwarded-for', '1.1.1.1', 'accept', '*/*', 'x-forwarded-for', '2.2.2.2'], true);
    expect(of('x-forwarded-for')).toEqual(['1.1.1.1, 2.2.2.2, 203.0.113.9']);
    expect(of('accept')).toEqual(['*/*']);
  });

  it('headers of the hop stay behind, and those that Connection names', () => {
    const { list } = sent(['connection', 'x-hop, close', 'x-hop', '1', 'keep-alive', '5', 'accept', '*/*']);
    expect(list.filter((_, i) => i % 2 === 0)).toEqual([
      'accept',
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
      'via',
    ]);
  });

  it('Connection cannot make what we say disappear', () => {
    expect(sent(['connection', 'forwarded, via, x-forwarded-for']).of('x-forwarded-for')).toEqual(['203.0.113.9']);
  });

  it('comes after those before it in Via', () => {
    expect(sent(['via', '1.0 a', 'via', '1.1 b']).of('via')).toEqual(['1.0 a', '1.1 b, 1.1 sluice']);
    expect([viaOf('HTTP/1.0'), viaOf('HTTP/1.1'), viaOf('HTTP/2.0')]).toEqual(['1.0 sluice', '1.1 sluice', '2 sluice']);
  });
});
