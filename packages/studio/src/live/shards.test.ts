import { expect, test } from 'vitest';
import type { LiveCluster } from './contract.ts';
import { memberNumbers, movesBetween, shardCounts, shardWords, slotsOfShard } from './shards.ts';

function cluster(members: string, owners: string, standbys = owners.replace(/./g, '-')): LiveCluster {
  const placesOf = (letters: string) => [...letters].map((letter) => members.indexOf(letter));
  return {
    revision: 1,
    members: [...members].map((id) => ({ id, address: `at ${id}`, isSelf: id === 'A', isLeaving: false })),
    owners: placesOf(owners),
    standbys: placesOf(standbys),
  };
}

test('members own and stand by', () => {
  expect(shardCounts(cluster('ABC', 'AAB-', 'BB-A'))).toEqual([
    { owned: 2, standby: 1 },
    { owned: 1, standby: 2 },
    { owned: 0, standby: 0 },
  ]);
});

test('the words name who owns how many, and what nobody owns', () => {
  expect(shardWords(cluster('AB', 'AAB'))).toBe('3 shards. Every shard has an owner. Owned: at A 2, at B 1.');
  expect(shardWords(cluster('AB', 'A-BA'))).toBe('4 shards. 1 shard without an owner: refused. Owned: at A 2, at B 1.');
});

const rows: [before: [string, string], after: [string, string], shards: number[], words: string | undefined][] = [
  [['AB', 'AABB'], ['AB', 'AABB'], [], undefined],
  [['AB', 'AABB'], ['BA', 'AABB'], [], undefined], // the members changed places, the shards did not
  [['AB', 'AABB'], ['ABC', 'ACBC'], [1, 3], 'Moved: 1 from at A to at C, 1 from at B to at C.'],
  [['AB', 'AABB'], ['B', '--BB'], [0, 1], 'Moved: 2 from at A to nobody.'],
  [['B', '--BB'], ['B', 'BBBB'], [0, 1], 'Moved: 2 from nobody to at B.'],
  [['AB', 'AABB'], ['AB', 'AABBAA'], [], undefined], // another cluster
];

test.each(rows)('from %j to %j', (before, after, shards, words) => {
  const moves = movesBetween(cluster(...before), cluster(...after));
  expect([[...(moves?.shards ?? [])], moves?.words]).toEqual([shards, words]);
});

test('where there was no cluster nothing moved', () => {
  expect(movesBetween(null, cluster('A', 'AA'))).toBeUndefined();
  expect(movesBetween(cluster('A', 'AA'), null)).toBeUndefined();
});

test.each([1, 3, 256, 1000, 1024])('%d shards cover every slot once', (shards) => {
  let next = 0;
  for (let shard = 0; shard < shards; shard += 1) {
    const { first, last } = slotsOfShard(shard, shards);
    expect(first).toBe(next);
    next = last + 1;
  }
  expect(next).toBe(16_384);
});

test('members keep their numbers while others come and go', () => {
  const rows: [members: string, numbers: string][] = [
    ['AB', 'A1 B2'],
    ['BC', 'B2 C1'],
    ['CDB', 'C1 B2 D3'],
    ['DE', 'D3 E1'],
  ];
  let numbers: ReadonlyMap<string, number> = new Map();
  for (const [members, expected] of rows) {
    numbers = memberNumbers(numbers, cluster(members, ''));
    expect([...numbers].map(([id, number]) => `${id}${number}`).join(' ')).toBe(expected);
  }
  expect(memberNumbers(numbers, null).size).toBe(0);
});
