import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HeavyNames } from './heavy-names.ts';

const counters = 4;

function counted(names: readonly string[]): HeavyNames {
  const heavy = new HeavyNames(counters);
  for (const name of names) heavy.count(name);
  return heavy;
}

it('is exact while there are no more names than counters', () => {
  expect(counted(['b', 'a', 'b', 'c', 'b', 'a']).top(2)).toEqual([
    { name: 'b', count: 3, error: 0 },
    { name: 'a', count: 2, error: 0 },
  ]);
});

it('never counts too little, says how much too much it may be, and misses nobody who came often', () => {
  const names = fc.array(fc.constantFrom('a', 'a', 'a', 'b', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 200 });
  fc.assert(
    fc.property(names, (list) => {
      const found = counted(list).top(counters);
      const times = (name: string) => list.filter((each) => each === name).length;
      for (const { name, count, error } of found) {
        expect(count).toBeGreaterThanOrEqual(times(name));
        expect(count - error).toBeLessThanOrEqual(times(name));
        expect(error).toBeLessThanOrEqual(list.length / counters);
      }
      for (const name of new Set(list)) {
        if (times(name) > list.length / counters) expect(found.map((each) => each.name)).toContain(name);
      }
    }),
  );
});

it('keeps only the beginning of a name that is as long as a line', () => {
  const [only] = counted(['x'.repeat(10_000), 'x'.repeat(20_000)]).top(1);
  expect([only!.name.length, only!.count]).toEqual([201, 2]);
});
