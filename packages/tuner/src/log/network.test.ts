import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { networkOf } from '../../../sluice/src/limit/ip-address.ts';
import { NameBuffer } from './name-buffer.ts';
import { networkWriter } from './network.ts';

function network(address: string, subnetBits = 56): string {
  const name = new NameBuffer();
  const bytes = Buffer.from(address);
  networkWriter(subnetBits)(bytes, 0, bytes.length, name);
  return Buffer.from(name.bytes.subarray(0, name.length)).toString();
}

describe('network', () => {
  // biome-ignore format: a row is a line
  const rows: [address: string, name: string][] = [
    ['2001:db8:0:1ff::1',              '2001:db8:0:100:0:0:0:0/56'],
    ['2001:DB8:0:01FF:0:0:0:1',        '2001:db8:0:100:0:0:0:0/56'],
    ['2001:db8::1%eth0',               '2001:db8:0:0:0:0:0:0/56'],
    ['[2001:db8::1]:443',              '2001:db8:0:0:0:0:0:0/56'],
    ['[2001:db8::1]',                  '2001:db8:0:0:0:0:0:0/56'],
    ['::',                             '0:0:0:0:0:0:0:0/56'],
    ['1::',                            '1:0:0:0:0:0:0:0/56'],
    ['64:ff9b::192.0.2.33',            '64:ff9b:0:0:0:0:0:0/56'],
    ['::ffff:192.0.2.1',               '192.0.2.1'],
    ['::ffff:c000:201',                '192.0.2.1'],
    ['192.0.2.1:5678',                 '192.0.2.1'],
    ['192.0.2.1',                      '192.0.2.1'],
    // What is no address is a name as it stands.
    ['unix:',                          'unix:'],
    ['www.example.org:80',             'www.example.org:80'],
    ['192.0.2.1:',                     '192.0.2.1:'],
    ['1.2.3:80',                       '1.2.3:80'],
    ['1:2:3:4:5:6:7:8:9',              '1:2:3:4:5:6:7:8:9'],
    ['1:2:3:4:5:6:7',                  '1:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:7:',                 '1:2:3:4:5:6:7:'],
    ['1::2::3',                        '1::2::3'],
    [':1:2:3:4:5:6:7:8',               ':1:2:3:4:5:6:7:8'],
    ['12345::',                        '12345::'],
    ['::1.2.3',                        '::1.2.3'],
    ['::1.2.3.04',                     '::1.2.3.04'],
    ['1::2:3:4:5:6:7:8',               '1::2:3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::8',               '1:2:3:4:5:6:7::8'],
    ['::1.2.3.256',                    '::1.2.3.256'],
    [':',                              ':'],
    ['',                               ''],
  ];
  it.each(rows)('%s is of %s', (address, name) => {
    expect(network(address)).toBe(name);
  });

  const spelling = fc.oneof(
    fc.ipV6(),
    fc.ipV4(),
    fc.ipV4().map((address) => `::ffff:${address}`),
    fc.string({ unit: fc.constantFrom('0', '1', 'f', 'A', ':', ':', '.', '::', 'g'), maxLength: 20 }),
  );

  it('has the names that rules count by', () => {
    fc.assert(
      fc.property(spelling, fc.integer({ min: 32, max: 128 }), (address, subnetBits) => {
        // Rules get addresses without ports; what looks like one is another matter.
        fc.pre(!/^[\d.]+:\d+$/.test(address));
        expect(network(address, subnetBits)).toBe(networkOf(address, subnetBits));
      }),
      { numRuns: 1000 },
    );
  });
});
