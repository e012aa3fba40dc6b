import { expect, test } from 'vitest';
import { reconnectWaitMs } from './reconnect-wait.ts';

const rows: [attempt: number, random: number, waitMs: number][] = [
  [1, 0, 500],
  [1, 1, 1000],
  [2, 0.5, 1500],
  [5, 0, 8000],
  [5, 1, 16_000],
  [6, 1, 30_000],
  [1000, 0, 15_000],
  [1000, 1, 30_000],
];

test.each(rows)('attempt %d with %d waits %d ms', (attempt, random, waitMs) => {
  expect(reconnectWaitMs(attempt, random)).toBe(waitMs);
});
