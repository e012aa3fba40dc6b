import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClientIpOptions, clientIp, type TrustedProxies } from './client-ip.ts';

describe('clientIp', () => {
  it.each<[string, string | string[] | undefined, TrustedProxies, string]>([
    // peer, header, proxies, client
    ['10.0.0.8', undefined, 0, '10.0.0.8'],
    ['10.0.0.8', '203.0.113.9', 0, '10.0.0.8'], // nobody in front: the header is the caller's own invention
    ['10.0.0.8', '203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.8', 'made-up, 203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.8', '198.51.100.1, 203.0.113.9, 10.0.0.7', 2, '203.0.113.9'],
    ['10.0.0.8', ['198.51.100.1', '203.0.113.9,10.0.0.7'], 2, '203.0.113.9'], // the header may come on several lines
    ['10.0.0.8', '203.0.113.9', 5, '203.0.113.9'],
    ['10.0.0.8', ' , ,203.0.113.9, ', 1, '203.0.113.9'],
    ['10.0.0.8', undefined, 1, '10.0.0.8'], // somebody came past the proxy
    ['10.0.0.8', 'unknown', 1, '10.0.0.8'], // what is no address is no key either
    ['10.0.0.8', '::1]#[', 1, '10.0.0.8'], // nor what would be one in a URL
    ['10.0.0.8', '203.0.113.9:4711', 1, '203.0.113.9'], // some proxies write the port
    ['10.0.0.8', '[2001:db8::1]:4711', 1, '2001:db8::1'],
    ['10.0.0.8', '2001:db8::1', 1, '2001:db8::1'],

    ['10.0.0.8', '203.0.113.9, 10.0.0.7', '10.0.0.0/8', '203.0.113.9'],
    ['10.0.0.8', '198.51.100.1, 203.0.113.9', '10.0.0.0/8', '203.0.113.9'], // never further left than the first stranger
    ['203.0.113.5', '198.51.100.1', '10.0.0.0/8', '203.0.113.5'], // a stranger's header
    ['11.0.0.8', '198.51.100.1', '10.0.0.0/8', '11.0.0.8'],
    ['::ffff:10.0.0.8', '203.0.113.9', '10.0.0.0/8', '203.0.113.9'], // as Node writes it on a socket for both kinds
    ['127.0.0.1', '203.0.113.9', 'loopback', '203.0.113.9'],
    ['::1', '203.0.113.9', 'loopback', '203.0.113.9'],
    ['192.168.1.1', '203.0.113.9, 172.31.0.1', 'private', '203.0.113.9'],
    ['172.32.0.1', '203.0.113.9', 'private', '172.32.0.1'],
    ['2001:db8::7', '203.0.113.9', ['10.0.0.0/8', '2001:db8::/32'], '203.0.113.9'],
    ['10.0.0.8', '10.0.0.1, 10.0.0.7', '10.0.0.0/8', '10.0.0.1'], // a client among the proxies
    ['10.0.0.8', 'made-up, 10.0.0.7', '10.0.0.0/8', '10.0.0.7'],
    ['', '203.0.113.9', 1, '203.0.113.9'], // a Unix socket has no peer address
  ])('peer %s with %j behind %j is %s', (peer, header, trustProxy, client) => {
    expect(clientIp(peer, header, { trustProxy })).toBe(client);
  });

  it.each<[string | string[] | undefined, TrustedProxies, string]>([
    ['for=203.0.113.9', 1, '203.0.113.9'],
    ['for=203.0.113.9;proto=https;by=10.0.0.7', 1, '203.0.113.9'],
    ['by=10.0.0.7; For="203.0.113.9:4711"', 1, '203.0.113.9'],
    ['for="[2001:db8:cafe::17]:4711"', 1, '2001:db8:cafe::17'],
    ['for=198.51.100.1, for=203.0.113.9;host="a,b;c", for=10.0.0.7', 2, '203.0.113.9'],
    [['for=198.51.100.1', 'for=203.0.113.9'], 1, '203.0.113.9'],
    ['for=203.0.113.9, for=10.0.0.7', '10.0.0.0/8', '203.0.113.9'],
    ['for=_hidden, for=unknown', 2, '10.0.0.8'],
    ['for="unclosed', 1, '10.0.0.8'],
    // What a caller leaves open swallows nothing that a proxy appended.
    ['for=1.2.3.4;x=", for=203.0.113.9', 1, '203.0.113.9'],
    ['for=1.2.3.4;x=", for="203.0.113.9:80"', 1, '203.0.113.9'],
    [['for=1.2.3.4;x="', 'for=203.0.113.9'], 1, '203.0.113.9'],
    ['for=1.2.3.4;x=", for=203.0.113.9, for=10.0.0.7', '10.0.0.0/8', '203.0.113.9'],
    ['x="\\", for=203.0.113.9', 1, '203.0.113.9'],
    // Nor is what a proxy quotes taken for what it says.
    ['host="a;for=1.2.3.4";for=203.0.113.9', 1, '203.0.113.9'],
    ['host="a, for=1.2.3.4";for=203.0.113.9', 1, '203.0.113.9'],
    ['host="a\\", for=1.2.3.4";for=203.0.113.9', 1, '203.0.113.9'],
    ['"', 1, '10.0.0.8'],
    [',,,', 1, '10.0.0.8'],
    ['proto=https', 1, '10.0.0.8'],
    [undefined, 1, '10.0.0.8'],
  ])('Forwarded: %j behind %j is %s', (header, trustProxy, client) => {
    expect(clientIp('10.0.0.8', header, { trustProxy, forwardingHeader: 'forwarded' })).toBe(client);
  });

  it.each<[ClientIpOptions, string]>([
    [{ trustProxy: -1 }, 'trustProxy must be a whole number of proxies from 0 to 32, or their addresses, got -1.'],
    [{ trustProxy: 1.5 }, 'got 1.5.'],
    [{ trustProxy: '10.0.0.0/33' }, 'such as "10.0.0.0/8", "loopback" or "private", got "10.0.0.0/33".'],
    [{ trustProxy: ['everybody'] }, 'got "everybody".'],
    [{ trustProxy: '10.0.0.0/8/9' }, 'got "10.0.0.0/8/9".'],
    [
      { trustProxy: true as never },
      'trustProxy must be a number of proxies, an address, a network, or a list of them, got true.',
    ],
    [
      { forwardingHeader: 'x-real-ip' as never },
      'forwardingHeader must be one of "x-forwarded-for", "forwarded", got "x-real-ip".',
    ],
    [{ hops: 1 } as never, 'client IP options has no field "hops".'],
  ])('refuses %j', (options, message) => {
    expect(() => clientIp('10.0.0.8', undefined, options)).toThrow(message);
  });

  it('takes no time over a header of any length, and no caller gets another address by what he puts on the left', () => {
    const long = `${'198.51.100.1,'.repeat(100_000)}203.0.113.9`;
    expect(clientIp('10.0.0.8', long, { trustProxy: 1 })).toBe('203.0.113.9');
    fc.assert(
      fc.property(fc.string(), fc.constantFrom<TrustedProxies>(1, '10.0.0.0/8'), (madeUp, trustProxy) => {
        expect(clientIp('10.0.0.8', `${madeUp},203.0.113.9`, { trustProxy })).toBe('203.0.113.9');
      }),
    );
  });

  it('of Forwarded believes what the proxy appended, whatever the caller sent', () => {
    const tricky = fc.string({ unit: fc.constantFrom('"', '\\', ',', ';', '=', 'for', '1.2.3.4', ' ', 'x') });
    const appended = fc.constantFrom('for=203.0.113.9', 'for="203.0.113.9:80"', 'proto=https;for=203.0.113.9');
    fc.assert(
      fc.property(tricky, appended, fc.constantFrom<TrustedProxies>(1, '10.0.0.0/8'), (madeUp, element, trustProxy) => {
        const options = { trustProxy, forwardingHeader: 'forwarded' } as const;
        expect(clientIp('10.0.0.8', `${madeUp},${element}`, options)).toBe('203.0.113.9');
      }),
      { numRuns: 2000 },
    );
  });
});
