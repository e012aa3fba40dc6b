import { describe, expect, it } from 'vitest';
import { addressGroups } from './ip-address.ts';
import { networkTest } from './networks.ts';

describe('a network', () => {
  // biome-ignore format: aligned rows
  it.each([
    ['10.0.0.0/8',           '10.255.0.1',         true ],
    ['10.0.0.0/8',           '11.0.0.1',           false],
    ['10.0.0.0/8',           '::ffff:10.0.0.1',    true ],
    ['192.0.2.128/25',       '192.0.2.127',        false],
    ['192.0.2.128/25',       '192.0.2.128',        true ],
    ['192.0.2.1',            '192.0.2.1',          true ],
    ['192.0.2.1',            '192.0.2.2',          false],
    ['0.0.0.0/0',            '255.255.255.255',    true ],
    ['0.0.0.0/0',            '2001:db8::1',        false],  // IPv4 only
    ['::/0',                 '2001:db8::1',        true ],
    ['2001:db8::/32',        '2001:DB8:ffff::1',   true ],
    ['2001:db8::/32',        '2001:db9::1',        false],
    ['2001:db8::/33',        '2001:db8:8000::1',   false],
    ['::ffff:10.0.0.0/104',  '10.9.9.9',           true ],
    ['2001:db8::1',          '2001:db8:0:0::1',    true ],
  ])('%s has %s: %s', (network, address, expected) => {
    expect(networkTest(network)?.(addressGroups(address) as number[])).toBe(expected);
  });

  it.each(['', 'everybody', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '10.0.0/8', '::/129', '/8'])(
    'is not %j',
    (text) => {
      expect(networkTest(text)).toBeUndefined();
    },
  );
});
