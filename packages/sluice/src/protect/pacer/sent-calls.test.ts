import { describe, expect, it } from 'vitest';
import { SentCalls } from './sent-calls.ts';

function forgotten(sent: SentCalls, nowMs: number): string {
  const parts: string[] = [];
  sent.forEach(nowMs, (count, inMs) => parts.push(`${count} in ${inMs}`));
  return parts.join(', ');
}

describe('calls that were made', () => {
  it('are forgotten a window later, the oldest first, and never before', () => {
    const sent = new SentCalls(640);
    for (const atMs of [0, 5, 9, 100, 639]) sent.add(atMs);
    expect(sent.total(639)).toBe(5);
    expect(forgotten(sent, 639)).toBe('3 in 11, 1 in 111, 1 in 641');
    expect(sent.total(649)).toBe(5);
    expect(sent.total(650)).toBe(2);
    expect(forgotten(sent, 650)).toBe('1 in 100, 1 in 630');
    expect(sent.total(10_000)).toBe(0);
  });

  it('that were not made after all are taken back, unless they are forgotten already', () => {
    const sent = new SentCalls(640);
    sent.takeBack(0);
    for (const atMs of [0, 5, 100]) sent.add(atMs);
    sent.takeBack(5);
    expect(forgotten(sent, 100)).toBe('1 in 550, 1 in 650');
    sent.takeBack(500); // none was made then
    expect(sent.total(700)).toBe(1);
    sent.takeBack(0);
    expect(sent.total(700)).toBe(1);
  });

  it('stay counted when the time steps back', () => {
    const sent = new SentCalls(640);
    sent.add(1000);
    sent.add(400);
    expect(sent.total(1000)).toBe(2);
  });

  it('may be at any time since the epoch', () => {
    const sent = new SentCalls(1000);
    sent.add(1_750_000_000_123.5);
    sent.add(1_750_000_000_999);
    expect(sent.total(1_750_000_000_999)).toBe(2);
    expect(sent.total(1_750_000_001_200)).toBe(1);
    expect(sent.total(1_750_000_900_000)).toBe(0);
  });
});
