import { slidingLog } from 'sluice';
import { expect, test } from 'vitest';
import { type CallOutcome, judge, type RecordedCall } from './history.test-support.ts';

const policy = slidingLog({ limit: 2, window: 1000 });
const outcomes: Record<string, CallOutcome> = { g: 'granted', r: 'refused', f: 'failed', l: 'late' };

/** A letter for each tenth of a second: what became of the call then. */
function callsOf(letters: string): RecordedCall[] {
  return [...letters].flatMap((letter, i) => {
    const outcome = outcomes[letter];
    return outcome ? [{ key: 'k', sentMs: 100 * i, receivedMs: 100 * i + 1, outcome }] : [];
  });
}

const rows: [letters: string, wronglyRefused: number, withoutServiceMs: number, violations: number][] = [
  ['gg.......gg', 0, 0, 1], //     less than a window later
  ['ggrrrrrrrrrgg', 0, 0, 0], //   a full key is refused rightly
  ['g.r........g', 1, 901, 0], //  one was left
  ['rrrrrg', 2, 501, 0], //        five calls, and budget for two
  ['frrrg', 2, 401, 0], //         no answer is a refusal
  ['flrrrrrrrrrg', 2, 1101, 0], // what came too late is spent
  ['rrrrr', 2, 401, 0], //         and nothing after it
];

test.each(rows)(
  '%s: %d refused wrongly, %d ms without service',
  (letters, wronglyRefused, withoutServiceMs, violations) => {
    const scope = { policy, graceMs: 0, fromMs: 0, toMs: 10_000, keys: ['k'] };
    expect(judge(callsOf(letters), scope)).toMatchObject({ wronglyRefused, withoutServiceMs, violations });
  },
);
