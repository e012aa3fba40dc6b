/** The model itself: what a service does in cases that can be worked out by hand. */
import { describe, expect, test } from 'vitest';
import { eventLoop } from '../events.ts';
import { type BackendOptions, backend } from './backend.ts';

/** A request is 10 ms of work, a refusal 5, two may wait, and callers wait for 100 ms. */
const options: BackendOptions = { capacityPerSecond: 100, queueLength: 2, rejectionCost: 0.5, timeoutMs: 100 };

/** What each call came to, and when; `calls` has when each is made. */
async function endsOf(calls: readonly number[], own: Partial<BackendOptions> = {}) {
  const loop = eventLoop();
  const server = backend(loop, { ...options, ...own });
  const ends: string[] = [];
  for (const [i, atMs] of calls.entries()) {
    loop.at(atMs, () => {
      server.call().then(
        () => {
          ends[i] = `answered at ${loop.nowMs}`;
        },
        (error: Error) => {
          ends[i] = `${/refused/.test(error.message) ? 'refused' : 'timed out'} at ${loop.nowMs}`;
        },
      );
    });
  }
  await loop.run();
  return { ends, counts: server.counts };
}

describe('a service', () => {
  test('works on one request at a time, in the order they came', async () => {
    const { ends, counts } = await endsOf([0, 0, 0, 100]);
    expect(ends).toEqual(['answered at 10', 'answered at 20', 'answered at 30', 'answered at 110']);
    expect(counts).toEqual({ arrived: 4, answered: 4, wasted: 0, refused: 0, lost: 0, timedOut: 0 });
  });

  test('refuses who finds no place, and that is work which goes before the work on requests', async () => {
    const { ends, counts } = await endsOf([0, 1, 2, 3, 4]);
    expect(ends).toEqual([
      'answered at 10',
      'answered at 30', // after two refusals
      'answered at 40',
      'refused at 15',
      'refused at 20',
    ]);
    expect(counts).toMatchObject({ answered: 3, refused: 2 });
  });

  test('works for callers who have given up: it does not know', async () => {
    const { ends, counts } = await endsOf([0, 1, 2], { timeoutMs: 25 });
    expect(ends).toEqual(['answered at 10', 'answered at 20', 'timed out at 27']);
    expect(counts).toMatchObject({ answered: 2, wasted: 1, timedOut: 1 });
  });

  test('what is too much even to be refused is lost: the caller hears nothing', async () => {
    const { ends, counts } = await endsOf([0, 1, 2, 3, 4], { backlog: 1 });
    expect(ends[3]).toBe('refused at 15');
    expect(ends[4]).toBe('timed out at 104');
    expect(counts).toMatchObject({ refused: 1, lost: 1, timedOut: 1 });
  });

  test('whose requests vary has the capacity it says, on average', async () => {
    const calls = Array.from({ length: 10_000 }, () => 0);
    const { ends } = await endsOf(calls, { queueLength: 10_000, timeoutMs: 1e9, work: 'exponential' });
    // 10 ms each; the sum of so many varies by a hundredth.
    expect(Number(ends.at(-1)!.replace(/\D/g, ' ').trim().split(' ')[0]) / 100_000).toBeCloseTo(1, 1);
  });

  test('that refuses at a cost of r can answer 1 - (load - 1) r / (1 - r) of its capacity, and no more', async () => {
    // Of a load L, g is answered and L - g refused: g + r (L - g) = 1.
    const load = 3;
    const rejectionCost = 0.2;
    const calls = Array.from({ length: 30_000 }, (_, i) => (i * 10) / load);
    const { counts } = await endsOf(calls, { rejectionCost, queueLength: 20, timeoutMs: 1e9 });
    const seconds = 100;
    const goodput = (1 - rejectionCost * load) / (1 - rejectionCost);
    expect(counts.answered / (100 * seconds)).toBeCloseTo(goodput, 2);
  });
});
