import { describe, expect, it, test } from 'vitest';
import { ketamaPlacement, nginxPlacement, ownPlacement, type Placement } from './placement.ts';

const own = ownPlacement(150);
const placements: [string, Placement][] = [
  ['own', own],
  ['ketama', ketamaPlacement],
  ['nginx', nginxPlacement],
];

describe.each(placements)('the %s placement', (_name, placement) => {
  it('has points of a member that are the first of one sequence, however many they are', () => {
    const longest = placement.points('10.0.0.1:80', 640);
    for (const count of [4, 160, 320]) {
      expect(placement.points('10.0.0.1:80', count)).toEqual(longest.subarray(0, count));
    }
    expect(new Set(longest).size).toBe(640);
  });

  it('has at least one point for the smallest weight', () => {
    expect(placement.count(1e-6, 1000, 3)).toBeGreaterThanOrEqual(1);
  });

  it('spreads keys and points over all of the circle', () => {
    const slices = 64;
    const perSlice = 200;
    const count = slices * perSlice;
    const keys = Uint32Array.from({ length: count }, (_, i) => placement.placeOf(`user-${i}`));
    for (const places of [keys, placement.points('10.0.0.1:80', count)]) {
      // Chi-squared with 63 degrees of freedom: below 117 with a chance of 0.99997. Checksums are more even than chance.
      expect(chiSquared(places, slices)).toBeLessThan(117);
    }
  });
});

function chiSquared(places: Uint32Array, slices: number): number {
  const counts = new Float64Array(slices);
  for (const place of places) counts[Math.floor((place / 2 ** 32) * slices)]! += 1;
  const expected = places.length / slices;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

describe('our own placement', () => {
  it('gives points in proportion to the weight', () => {
    expect([1, 2, 0.5, 1 / 300, 1e-6].map((weight) => own.count(weight, 10, 5))).toEqual([150, 300, 75, 1, 1]);
  });

  test.each([
    // These must never change: processes of different versions share a ring.
    ['', 308606196],
    ['a', 1828804025],
    ['user:42', 1946247509],
    ['ключ', 1237434641],
    ['\u{1f600}', 1465580765],
  ])('puts %j at %i on every machine', (key, place) => {
    expect(own.placeOf(key)).toBe(place);
  });

  it('begins the points of a member at the same places on every machine', () => {
    expect([...own.points('10.0.0.1:80', 4)]).toEqual([3857813350, 2147901200, 323113970, 4234255313]);
  });

  it('turns about half of the bits when one bit of the key turns', () => {
    // 32 bits for each of 14,000 pairs: 16 on average, with a standard deviation of 0.024. Five times that.
    let turned = 0;
    let pairs = 0;
    for (let i = 0; i < 2000; i += 1) {
      const key = `user-${i}`;
      for (let bit = 0; bit < 7; bit += 1) {
        const at = i % key.length;
        const other = key.slice(0, at) + String.fromCharCode(key.charCodeAt(at) ^ (1 << bit)) + key.slice(at + 1);
        turned += bitsOf(own.placeOf(key) ^ own.placeOf(other));
        pairs += 1;
      }
    }
    expect(Math.abs(turned / pairs - 16)).toBeLessThan(0.12);
  });
});

function bitsOf(number: number): number {
  let count = 0;
  for (let rest = number >>> 0; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

describe('the points of ketama', () => {
  test.each([
    //  weight  of     members  points
    [1, 4, 4, 160],
    [1, 61, 61, 156], // the original's single precision: 39.99999 digests
    [2, 5, 4, 256],
    [1, 5, 4, 128],
    [1, 1000, 2, 4], // the original has none here, and the member no keys
  ])('of weight %d among %d of %d members are %d', (weight, total, members, points) => {
    expect(ketamaPlacement.count(weight, total, members)).toBe(points);
  });
});

describe('an address as nginx reads it', () => {
  const first = (id: string) => nginxPlacement.points(id, 1)[0];
  it('is host and port, a host, or the path of a socket', () => {
    expect(first('127.0.0.1:80')).not.toBe(first('127.0.0.1:81'));
    expect(first('[::1]:80')).not.toBe(first('[::1]'));
    expect(first('unix:/run/a.sock')).toBe(first('UNIX:/run/a.sock'));
    expect(first('localhost')).toBe(first('localhost:'));
  });
});
