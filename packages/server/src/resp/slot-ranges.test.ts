import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mostShards as shards, slots } from '../cluster/shards.ts';
import { fixedCluster, layoutOf, memberOf } from './cluster.test-support.ts';
import { slotCount, slotRanges, slotsByOwner, viewOfOne } from './slot-ranges.ts';

const slotsPerShard = slots / shards;

const members = [memberOf(0, 'a:1'), memberOf(1, 'b:2'), memberOf(2, 'c:3')];
const place = fc.integer({ min: -1, max: 2 });
// Few different runs, or every shard for itself.
const places = fc.oneof(
  fc.array(place, { minLength: shards, maxLength: shards }),
  fc
    .array(place, { minLength: 1, maxLength: 5 })
    .map((runs) => Array.from({ length: shards }, (_, shard) => runs[Math.floor((shard * runs.length) / shards)]!)),
);

test('ranges say of every slot what the view says, in order, and no two that meet could be one', () => {
  fc.assert(
    fc.property(places, places, (owners, standbys) => {
      const layout = layoutOf(
        (shard) => owners[shard]!,
        (shard) => standbys[shard]!,
      );
      const ranges = slotRanges(fixedCluster(0, members, layout).view());
      let next = 0;
      for (const [i, { first, last, owner, standby }] of ranges.entries()) {
        for (; next < first; next += slotsPerShard) expect(owners[next / slotsPerShard]).toBe(-1);
        for (; next <= last; next += slotsPerShard) {
          expect(owner.id).toBe(members[owners[next / slotsPerShard]!]!.id);
          expect(standby?.id).toBe(members[standbys[next / slotsPerShard]!]?.id);
        }
        expect(next).toBe(last + 1);
        const after = ranges[i + 1];
        if (after?.first === next) expect([after.owner.id, after.standby?.id]).not.toEqual([owner.id, standby?.id]);
      }
      for (; next < slots; next += slotsPerShard) expect(owners[next / slotsPerShard]).toBe(-1);
      const byOwner = slotsByOwner(ranges);
      for (const [i, { id }] of members.entries()) {
        const owned = byOwner.get(id) ?? [];
        expect(slotCount(owned)).toBe(owners.filter((owner) => owner === i).length * slotsPerShard);
        for (let n = 1; n < owned.length; n += 1) expect(owned[n]!.first).toBeGreaterThan(owned[n - 1]!.last + 1);
      }
    }),
    { numRuns: 30 },
  );
});

test('a server of its own is one range', () => {
  const ranges = slotRanges(viewOfOne({ id: 'x', addresses: { resp: 'a:1' } }));
  expect(ranges).toMatchObject([{ first: 0, last: 16_383, owner: { id: 'x', isSelf: true }, standby: undefined }]);
  expect(slotCount(ranges)).toBe(slots);
});
