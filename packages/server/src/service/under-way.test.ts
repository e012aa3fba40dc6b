import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Placed, UnderWay } from './under-way.ts';

const member = (name: string): Placed & { readonly name: string } => ({ name, place: 0 });

function seen(underWay: UnderWay<ReturnType<typeof member>>): string[] {
  return Array.from(underWay, ({ name }) => name).sort();
}

describe('UnderWay', () => {
  it('holds those that came and have not left, as a set does, whoever leaves when', () => {
    const step = fc.tuple(fc.boolean(), fc.nat({ max: 9 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const all = Array.from({ length: 10 }, (_, i) => member(String(i)));
        const expected = new Set<string>();
        const underWay = new UnderWay<ReturnType<typeof member>>();
        for (const [comes, i] of steps) {
          const one = all[i]!;
          if (comes && !expected.has(one.name)) underWay.add(one);
          else if (!comes) underWay.delete(one);
          if (comes) expected.add(one.name);
          else expected.delete(one.name);
          expect(underWay.count).toBe(expected.size);
          expect(seen(underWay)).toEqual([...expected].sort());
          expect(underWay.find(({ name }) => name === one.name)).toBe(expected.has(one.name) ? one : undefined);
        }
      }),
    );
  });

  it('shows everybody once who has not left when the turn comes, whoever leaves meanwhile', () => {
    const all = ['A', 'B', 'C', 'D', 'E', 'F'].map(member);
    const underWay = new UnderWay<ReturnType<typeof member>>();
    for (const one of all) underWay.add(one);
    const names: string[] = [];
    for (const one of underWay) {
      names.push(one.name);
      // Itself, one that was shown before it, and one that was not.
      if (one.name === 'C') for (const gone of [all[2]!, all[0]!, all[4]!]) underWay.delete(gone);
      if (one.name === 'D') underWay.add(member('G'));
    }
    expect(names).toEqual(['A', 'B', 'C', 'D', 'F']);
    expect(seen(underWay)).toEqual(['B', 'D', 'F', 'G']);
  });
});
