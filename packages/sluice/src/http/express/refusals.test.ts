import { describe, expect, it } from 'vitest';
import { Refusals } from './refusals.ts';

describe('refusals', () => {
  it('are noted as often as they were, each until the latest ends', () => {
    const refusals = new Refusals();
    refusals.note('a', 100, 0);
    refusals.note('a', 200, 50);
    expect(refusals.mayBe('b', 60)).toBe(false);
    expect([refusals.mayBe('a', 150), refusals.mayBe('a', 199), refusals.mayBe('a', 199)]).toEqual([true, true, false]);
  });

  it('are forgotten when their time is over', () => {
    const refusals = new Refusals();
    refusals.note('a', 100, 0);
    refusals.note('a', 100, 0);
    expect(refusals.mayBe('a', 100)).toBe(false);
    refusals.note('a', 300, 200);
    expect([refusals.mayBe('a', 250), refusals.mayBe('a', 250)]).toEqual([true, false]);
  });

  it('are forgotten with their key, and no others', () => {
    const refusals = new Refusals();
    refusals.note('a', 100, 0);
    refusals.note('a', 100, 0);
    refusals.note('b', 100, 0);
    refusals.forget('a');
    expect([refusals.mayBe('a', 50), refusals.mayBe('b', 50)]).toEqual([false, true]);
  });

  it('that find no room hold back everybody, until they are over', () => {
    const refusals = new Refusals(2);
    refusals.note('a', 100, 0);
    refusals.note('b', 300, 0);
    refusals.note('c', 200, 0);
    expect([
      refusals.mayBe('c', 50),
      refusals.mayBe('d', 50),
      refusals.mayBe('d', 199),
      refusals.mayBe('d', 200),
    ]).toEqual([true, true, true, false]);
    // The place of one that is over is taken.
    refusals.note('d', 400, 250);
    expect([refusals.mayBe('d', 260), refusals.mayBe('e', 260), refusals.mayBe('b', 260)]).toEqual([true, false, true]);
  });
});
