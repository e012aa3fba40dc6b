import fc from 'fast-check';
import { expect, test } from 'vitest';
import { worstWindow } from './measure.ts';
import { WindowMeter } from './window-meter.ts';

test('the meter finds the worst window of any grants', () => {
  const grants = fc.array(
    fc.record({ gapMs: fc.integer({ min: 0, max: 300 }), cost: fc.integer({ min: 0, max: 5 }) }),
    {
      maxLength: 3000,
      size: 'max',
    },
  );
  fc.assert(
    fc.property(grants, fc.integer({ min: 1, max: 1000 }), (gaps, windowMs) => {
      let atMs = 0;
      const all = gaps.map(({ gapMs, cost }) => {
        atMs += gapMs;
        return { atMs, cost };
      });
      const meter = new WindowMeter(windowMs);
      for (const { atMs, cost } of all) meter.add(atMs, cost);
      expect(meter.worst).toBe(worstWindow(all, windowMs));
    }),
    { numRuns: 50 },
  );
});
