import { describe, expect, it } from 'vitest';
import { clientIp } from './client-ip.ts';

describe('clientIp', () => {
  it.each([
    // peer, header, hops, client
    ['10.0.0.8', undefined, 0, '10.0.0.8'],
    ['10.0.0.8', '203.0.113.9', 0, '10.0.0.8'], // nobody in front: the header is the caller's own invention
    ['10.0.0.8', '203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.8', 'made-up, 203.0.113.9', 1, '203.0.113.9'],
    ['10.0.0.8', 'made-up, 203.0.113.9, 10.0.0.7', 2, '203.0.113.9'],
    ['10.0.0.8', ['made-up', '203.0.113.9,10.0.0.7'], 2, '203.0.113.9'], // the header may come on several lines
    ['10.0.0.8', '203.0.113.9', 5, '203.0.113.9'],
    ['10.0.0.8', ' , ,203.0.113.9, ', 1, '203.0.113.9'],
  ])('peer %s with %j behind %d proxies is %s', (peer, header, hops, client) => {
    expect(clientIp(peer, header, hops)).toBe(client);
  });

  it('refuses a number of hops that makes no sense', () => {
    expect(() => clientIp('10.0.0.8', undefined, -1)).toThrow('trustedHops must be a number from 0, got -1.');
  });
});
