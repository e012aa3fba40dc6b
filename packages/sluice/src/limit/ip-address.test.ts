import { describe, expect, it } from 'vitest';
import { networkOf } from './ip-address.ts';

describe('networkOf', () => {
  it.each([
    ['203.0.113.9', 56, '203.0.113.9'],
    ['2001:db8:1:2ff::1', 56, '2001:db8:1:200:0:0:0:0/56'],
    ['2001:0DB8:0001:02AA:ffff:ffff:ffff:ffff', 56, '2001:db8:1:200:0:0:0:0/56'],
    ['2001:db8:1:2ff::1', 64, '2001:db8:1:2ff:0:0:0:0/64'],
    ['2001:db8:1:2ff::1', 48, '2001:db8:1:0:0:0:0:0/48'],
    ['2001:db8::1', 128, '2001:db8:0:0:0:0:0:1/128'],
    ['::1', 56, '0:0:0:0:0:0:0:0/56'],
    ['fe80::1%eth0', 64, 'fe80:0:0:0:0:0:0:0/64'],
    ['::ffff:203.0.113.9', 56, '203.0.113.9'], // IPv4 written as IPv6 is the same customer
    ['::ffff:cb00:7109', 56, '203.0.113.9'],
    ['not an address', 56, 'not an address'],
    ['1:2:3', 56, '1:2:3'],
    ['203.0.113.9:8080', 56, '203.0.113.9:8080'],
    // Parts of a URL, that are none of an address.
    ['::1]#[', 56, '::1]#['],
    ['::1]:80/[', 56, '::1]:80/['],
    ['a@[::1', 56, 'a@[::1'],
    ['::\t1', 56, '::\t1'],
    ['::1%25eth0\n]#[', 56, '::1%25eth0\n]#['],
  ])('%s by /%d is %s', (address, bits, network) => {
    expect(networkOf(address, bits)).toBe(network);
    expect(networkOf(address, bits)).toBe(network); // also when it comes again, and is known
  });

  it('is the same for addresses that were known and forgotten, by each length of a subnet', () => {
    const addresses = Array.from({ length: 1500 }, (_, i) => `2001:db8:${i.toString(16)}:ff::1`);
    for (const address of [...addresses, ...addresses]) {
      const group = address.split(':')[2];
      expect(networkOf(address, 48)).toBe(`2001:db8:${group}:0:0:0:0:0/48`);
      expect(networkOf(address, 64)).toBe(`2001:db8:${group}:ff:0:0:0:0/64`);
    }
  });
});
