import { beforeEach, describe, expect, it } from 'vitest';
import { allFences } from './fences.ts';
import { marginMs, Right, silenceMs } from './right.ts';

const ttlMs = 10_000;
let nowMs: number;
let sleptMs: number;
let right: Right;

beforeEach(() => {
  nowMs = 1_000_000;
  sleptMs = 0;
  const clock = { nowMs: () => nowMs, uptimeMs: () => 5000 + nowMs + sleptMs, after: () => () => {} };
  right = new Right(clock, { ttlMs }, allFences);
});

function renew(sentMs: number): void {
  right.renewed(sentMs, right.sleepSoFar());
}

describe('the right to decide', () => {
  it('is not there before the first renewal', () => {
    expect(right.leftMs()).toBeLessThanOrEqual(0);
  });

  it('counts from when the renewal was sent, however long its answer took', () => {
    const sentMs = nowMs;
    nowMs += 3000;
    renew(sentMs);
    expect(right.leftMs()).toBeCloseTo(ttlMs * 0.998 - marginMs(ttlMs) - 3000, 6);
  });

  it('ends before anybody may act on the silence that follows, whatever the two clocks', () => {
    renew(nowMs);
    const longestMs = (right.leftMs() / (1 - 1e-3)) * 1;
    const shortestMs = silenceMs(ttlMs, allFences) / (1 + 1e-3);
    expect(longestMs).toBeLessThan(shortestMs);
  });

  it('ends at its time', () => {
    renew(nowMs);
    nowMs += right.leftMs() - 1;
    expect(right.leftMs()).toBeGreaterThan(0);
    nowMs += 1;
    expect(right.leftMs()).toBeLessThanOrEqual(0);
  });

  it('does not shrink when an older renewal turns out to have gone through', () => {
    renew(nowMs);
    const leftMs = right.leftMs();
    renew(nowMs - 2000);
    expect(right.leftMs()).toBe(leftMs);
  });

  it('is lost when the machine slept, though its clock stood still, and comes back with the next renewal', () => {
    renew(nowMs);
    sleptMs = 400;
    expect(right.leftMs()).toBeLessThanOrEqual(0);
    sleptMs = 0;
    expect(right.leftMs()).toBeLessThanOrEqual(0);
    renew(nowMs);
    expect(right.leftMs()).toBeGreaterThan(0);
  });

  it('is not lost to the coarseness of a clock', () => {
    renew(nowMs);
    sleptMs = 20;
    expect(right.leftMs()).toBeGreaterThan(0);
  });

  it('can be given up', () => {
    renew(nowMs);
    right.end();
    expect(right.leftMs()).toBeLessThanOrEqual(0);
  });
});
