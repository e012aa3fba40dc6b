import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Tally } from './tally.ts';

const windowMs = 1000;
const slotMs = windowMs / 20;

test('counts every call of the window, and none that is older than the window and a slot', () => {
  const step = fc.record({ gapMs: fc.integer({ min: 0, max: 400 }), hasFailed: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const tally = new Tally(windowMs);
      const calls: { atMs: number; hasFailed: boolean }[] = [];
      let nowMs = 0;
      for (const { gapMs, hasFailed } of steps) {
        nowMs += gapMs;
        tally.add(hasFailed, nowMs);
        calls.push({ atMs: nowMs, hasFailed });
        const since = (ms: number) => calls.filter(({ atMs }) => nowMs - atMs < ms);
        expect(tally.calls).toBeGreaterThanOrEqual(since(windowMs).length);
        expect(tally.calls).toBeLessThanOrEqual(since(windowMs + slotMs).length);
        expect(tally.failures).toBeLessThanOrEqual(since(windowMs + slotMs).filter((each) => each.hasFailed).length);
      }
    }),
  );
});

test('without the calls of one, what is left are those of the others', () => {
  const step = fc.record({ gapMs: fc.integer({ min: 0, max: 200 }), hasFailed: fc.boolean(), isOwn: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), fc.integer({ min: 0, max: 3000 }), (steps, laterMs) => {
      const [all, own, others] = [new Tally(windowMs), new Tally(windowMs), new Tally(windowMs)];
      let nowMs = 0;
      for (const { gapMs, hasFailed, isOwn } of steps) {
        nowMs += gapMs;
        all.add(hasFailed, nowMs);
        (isOwn ? own : others).add(hasFailed, nowMs);
      }
      all.subtract(own, nowMs);
      for (const tally of [all, others]) tally.advance(nowMs + laterMs);
      expect([all.calls, all.failures]).toEqual([others.calls, others.failures]);
      own.clear();
      expect([own.calls, own.failures]).toEqual([0, 0]);
    }),
  );
});
