import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WindowSlots } from './window-slots.ts';

function begin(windowMs: number, slotsInWindow: number) {
  const slots = new WindowSlots(windowMs, slotsInWindow);
  const emptied = (nowMs: number) => {
    const places: number[] = [];
    slots.advance(nowMs, (place) => places.push(place));
    return places.sort((a, b) => a - b);
  };
  return { slots, emptied };
}

describe('a window in slots', () => {
  // biome-ignore format: aligned rows
  it.each<[string, readonly number[], readonly number[]]>([
    // what happens                            at             emptied by the last
    [ 'at first every place is empty',         [0],           [0, 1, 2, 3, 4] ],
    [ 'within a slot nothing leaves',          [0, 99],       [] ],
    [ 'the next slot takes one place',         [0, 100],      [1] ],
    [ 'and the ring comes round',              [0, 400, 500], [0] ],
    [ 'after a long silence all leave, once',  [0, 1e9],      [0, 1, 2, 3, 4] ],
    [ 'a step back empties nothing',           [900, 300],    [] ],
    [ 'nor does what comes after it',          [900, 300, 950], [] ],
    [ 'before the epoch it is the same',       [-250, -150],  [3] ],
  ])('%s', (_, times, places) => {
    const { emptied } = begin(400, 4);
    expect(times.map(emptied).at(-1)).toEqual(places);
  });

  it('a slot has left once it is a window away with all of it, and not before', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), fc.nat(2000), (atMs, laterMs) => {
        const { slots, emptied } = begin(640, 64);
        emptied(atMs);
        const slot = slots.slotAt(atMs);
        emptied(atMs + laterMs);
        expect(slots.hasLeft(slot)).toBe(atMs + laterMs >= slots.leavesMs(slot));
        if (laterMs < 640) expect(slots.hasLeft(slot)).toBe(false);
      }),
    );
  });
});
