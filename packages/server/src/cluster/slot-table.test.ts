import { describe, expect, it, test } from 'vitest';
import type { SharedSettings } from './settings.ts';
import { defaultShards as shards } from './shards.ts';
import {
  assign,
  copyOrigin,
  edited,
  emptyTable,
  offerOrigin,
  originOf,
  ownerOf,
  parseTable,
  standbyOf,
  tableText,
  unknownOrigin,
} from './slot-table.ts';

const shared: SharedSettings = { graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 };
const a = { id: 'a', epoch: 3, ttlMs: 1000 };
const b = { id: 'b', epoch: 5, ttlMs: 1000 };
const again = { id: 'a', epoch: 9, ttlMs: 1000 };

describe('the slot table', () => {
  it('has nobody in it at first', () => {
    const table = emptyTable(shared);
    expect(ownerOf(table, 0)).toBeUndefined();
    expect(standbyOf(table, shards - 1)).toBeUndefined();
  });

  it('changes what it is told to change, and nothing else', () => {
    const first = edited(
      emptyTable(shared),
      new Map([
        [0, { owner: a, standby: b }],
        [1, { owner: b, origin: offerOrigin('t') }],
      ]),
      100,
    );
    const second = edited(first, new Map([[1, { owner: a, origin: copyOrigin(5) }]]), 200);
    expect(ownerOf(second, 0)).toEqual(a);
    expect(standbyOf(second, 0)).toEqual(b);
    expect(ownerOf(second, 1)).toEqual(a);
    expect(originOf(second, 1)).toBe('copy:5');
    expect(originOf(second, 0)).toBe(unknownOrigin(0));
    expect(ownerOf(second, 2)).toBeUndefined();
    expect(second.timeMs).toBe(200);
    expect(ownerOf(first, 1)).toEqual(b);
  });

  it('takes a standby or an owner away', () => {
    const table = edited(emptyTable(shared), new Map([[7, { owner: a, standby: b }]]), 0);
    const without = edited(table, new Map([[7, { standby: null }]]), 0);
    expect(standbyOf(without, 7)).toBeUndefined();
    expect(ownerOf(without, 7)).toEqual(a);
    expect(ownerOf(edited(table, new Map([[7, { owner: undefined }]]), 0), 7)).toBeUndefined();
  });

  it('knows a node that was restarted from the one before', () => {
    const table = edited(
      emptyTable(shared),
      new Map([
        [0, { owner: a }],
        [1, { owner: again }],
      ]),
      0,
    );
    expect(table.nodes).toEqual([a, again]);
    expect(ownerOf(table, 0)?.epoch).toBe(3);
    expect(ownerOf(table, 1)?.epoch).toBe(9);
  });

  it('names nobody and no origin that is in no use', () => {
    const table = edited(emptyTable(shared), new Map([[0, { owner: a, origin: 'offer:x' }]]), 0);
    const later = edited(table, new Map([[0, { owner: b, origin: unknownOrigin(0) }]]), 0);
    expect(later.nodes).toEqual([b]);
    expect(later.origins).toEqual([unknownOrigin(0)]);
  });

  it('comes back from its text', () => {
    const table = edited(emptyTable(shared), new Map([[5, { owner: a, standby: b }]]), 1);
    expect(parseTable(tableText(table))).toEqual(table);
  });

  test.each(['{}', '[]', '{"owners":[1],"standbys":[],"origin":[],"nodes":[]}', 'null'])(
    'refuses to guess at %s',
    (text) => {
      expect(() => parseTable(text)).toThrow();
    },
  );
});

describe('who should own what', () => {
  const addresses = (count: number) => Array.from({ length: count }, (_, i) => `10.0.0.${i}:6380`);
  const shares = (list: readonly (string | undefined)[]) => {
    const counts = new Map<string | undefined, number>();
    for (const one of list) counts.set(one, (counts.get(one) ?? 0) + 1);
    return counts;
  };

  it('is nobody where nobody is', () => {
    expect(shares(assign([], shards).owners)).toEqual(new Map([[undefined, shards]]));
  });

  it('is the only one there is, who has no standby', () => {
    const { owners, standbys } = assign(['a:1'], shards);
    expect(shares(owners)).toEqual(new Map([['a:1', shards]]));
    expect(shares(standbys)).toEqual(new Map([[undefined, shards]]));
  });

  it('is the same in whatever order the nodes are listed, and however often', () => {
    const list = addresses(5);
    expect(assign([...list].reverse(), shards)).toEqual(assign(list, shards));
    expect(assign([...list, ...list], shards)).toEqual(assign(list, shards));
  });

  it.each([2, 3, 5, 10, 50, 400])(
    'of %i nodes, none has much more than its share, and each standby is another node',
    (count) => {
      const { owners, standbys } = assign(addresses(count), shards);
      const most = Math.ceil((1.15 * shards) / count);
      expect(Math.max(...shares(owners).values())).toBeLessThanOrEqual(most);
      expect(Math.max(...shares(standbys).values())).toBeLessThanOrEqual(most);
      expect(owners.every((owner, shard) => owner !== undefined && owner !== standbys[shard])).toBe(true);
    },
  );

  it.each([2, 3, 5, 10, 50])(
    'a node that joins %i others takes about its share, and one that leaves gives it back',
    (count) => {
      const before = assign(addresses(count), shards).owners;
      const after = assign(addresses(count + 1), shards).owners;
      const moved = before.filter((owner, shard) => owner !== after[shard]).length;
      expect(moved).toBeGreaterThan((0.5 * shards) / (count + 1));
      expect(moved).toBeLessThan((1.6 * shards) / (count + 1));
    },
  );
});
