import { expect, it } from 'vitest';
import { Fading } from './fading.ts';

it('keeps what matters, and at most about as many that do not', () => {
  const known = new Fading<{ readonly untilMs: number }>();
  for (let nowMs = 0; nowMs < 1000; nowMs += 1) {
    known.set(`key-${nowMs}`, { untilMs: nowMs + 10 }, nowMs);
    expect(known.get(`key-${Math.max(0, nowMs - 9)}`)).toBeDefined();
    expect(known.entries().length).toBeLessThanOrEqual(20);
  }
  known.forget(1004);
  expect(known.entries().map(([id]) => id)).toEqual(['key-995', 'key-996', 'key-997', 'key-998', 'key-999']);
});

it('keeps the latest that is known of a key', () => {
  const known = new Fading<{ readonly untilMs: number }>();
  known.set('key', { untilMs: 10 }, 0);
  known.set('key', { untilMs: 20 }, 5);
  known.forget(10);
  expect(known.get('key')).toEqual({ untilMs: 20 });
  known.clear();
  expect(known.get('key')).toBeUndefined();
});
