import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ReadAhead } from './read-ahead.ts';

it('holds what was appended and not taken, in order, and never changes what it gave', () => {
  const step = fc.oneof(
    fc.record({ append: fc.uint8Array({ minLength: 1, maxLength: 3000 }) }),
    fc.record({ take: fc.double({ min: 0, max: 1, noNaN: true }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ahead = new ReadAhead();
      let expected = Buffer.alloc(0);
      const given: [Buffer, Buffer][] = [];
      for (const one of steps) {
        if ('append' in one) {
          ahead.append(Buffer.from(one.append));
          expected = Buffer.concat([expected, one.append]);
        } else {
          const length = Math.floor(ahead.length * one.take);
          const piece = ahead.bytes.subarray(ahead.at, ahead.at + length);
          given.push([piece, Buffer.from(piece)]);
          ahead.take(ahead.at + length);
          expected = expected.subarray(length);
        }
        expect(ahead.bytes.subarray(ahead.at).equals(expected)).toBe(true);
        expect(ahead.length).toBe(expected.length);
      }
      for (const [piece, copy] of given) expect(piece.equals(copy)).toBe(true);
    }),
  );
});
