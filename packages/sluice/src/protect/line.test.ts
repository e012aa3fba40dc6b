import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type InLine, Line } from './line.ts';

it('a line is a list from which anybody may leave', () => {
  const steps = fc.array(
    fc.record({ what: fc.constantFrom('add', 'add', 'first', 'any', 'again'), which: fc.nat({ max: 50 }) }),
    { maxLength: 100 },
  );
  fc.assert(
    fc.property(steps, (life) => {
      const line = new Line<number>();
      const places: InLine<number>[] = [];
      const left: InLine<number>[] = [];
      const leave = (i: number) => {
        const [place] = places.splice(i, 1);
        expect(line.remove(place!)).toBe(true);
        left.push(place!);
      };
      for (const [i, { what, which }] of life.entries()) {
        if (what === 'add') places.push(line.add(i));
        else if (what === 'again' && left.length > 0) expect(line.remove(left[which % left.length]!)).toBe(false);
        else if (what !== 'again' && places.length > 0) leave(what === 'first' ? 0 : which % places.length);
        expect(line.first).toBe(places[0]);
        expect(line.last).toBe(places.at(-1));
        expect(line.length).toBe(places.length);
      }
      while (places.length > 0) {
        expect(line.first).toBe(places[0]);
        leave(0);
      }
      expect(line.first).toBeUndefined();
    }),
  );
});

it('whoever has left leads to nobody: one that is held for long must not hold all who came after it', () => {
  const line = new Line<string>();
  const [first, middle, last] = ['first', 'middle', 'last'].map((value) => line.add(value));
  for (const place of [middle!, first!, last!]) {
    line.remove(place);
    expect(Object.values(place).filter((held) => typeof held === 'object')).toEqual([]);
  }
});
