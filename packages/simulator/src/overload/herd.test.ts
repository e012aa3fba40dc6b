/** A thousand clients that are refused in one moment, and told the same time to come back at. */
import { retry } from 'sluice/protect';
import { describe, expect, test } from 'vitest';
import { simulatedClock } from '../clock.ts';
import { eventLoop } from '../events.ts';
import { backend } from './backend.ts';

const clients = 1000;
const retryAfterMs = 5000;

class Refused extends Error {
  readonly retryAfterMs = retryAfterMs;
}

/** The service refuses everybody at first and works again when it said it would: 4,000 a second, and 50 may wait. */
async function comeBack(randomOf: (uniform: () => number) => () => number) {
  const loop = eventLoop({ seed: 1 });
  const server = backend(loop, { capacityPerSecond: 4000, queueLength: 50, rejectionCost: 0.1, timeoutMs: 1000 });
  const clock = simulatedClock(loop);
  const cameBackMs: number[] = [];
  let answered = 0;
  for (let i = 0; i < clients; i += 1) {
    const behaving = retry({
      attempts: 2,
      clock,
      random: randomOf(loop.random.fork().uniform),
      waitFor: (ended) => ('error' in ended && ended.error instanceof Refused ? ended.error.retryAfterMs : undefined),
    });
    loop.at(0, async () => {
      await behaving
        .run(async () => {
          if (loop.nowMs < retryAfterMs) throw new Refused();
          cameBackMs.push(loop.nowMs);
          await server.call();
          answered += 1;
        })
        // Those who are refused again have no third attempt: they are what is counted here.
        .catch(() => undefined);
    });
  }
  await loop.run();
  return { cameBackMs: cameBackMs.sort((a, b) => a - b), answered, refused: server.counts.refused };
}

/** The most that come in any stretch of so long. */
function mostWithin(ms: number, sortedMs: readonly number[]): number {
  let first = 0;
  return Math.max(
    ...sortedMs.map((atMs, i) => {
      while (sortedMs[first]! <= atMs - ms) first += 1;
      return i - first + 1;
    }),
  );
}

describe('a thousand clients that were refused at once, with the same Retry-After', () => {
  test('do not come back at once, and none of them early', async () => {
    const { cameBackMs } = await comeBack((uniform) => uniform);
    expect(cameBackMs).toHaveLength(clients);
    expect(cameBackMs[0]).toBeGreaterThanOrEqual(retryAfterMs);
    // A tenth of the time they were told, half a second, is left to chance: two in a millisecond. Of a Poisson number with that
    // mean, one of 15 or more is a chance of one in ten million.
    expect(cameBackMs.at(-1)! - cameBackMs[0]!).toBeGreaterThan(450);
    expect(mostWithin(1, cameBackMs)).toBeLessThan(15);
    // Nor do they leave the first half of it empty.
    expect(mostWithin(250, cameBackMs)).toBeLessThan(0.6 * clients);
  });

  test('find a service that has a place for each; all at once, nearly all would be refused again', async () => {
    const spread = await comeBack((uniform) => uniform);
    expect(spread).toMatchObject({ answered: clients, refused: 0 });
    const together = await comeBack(() => () => 0.5);
    expect(mostWithin(1, together.cameBackMs)).toBe(clients);
    expect(together.answered).toBe(51);
    expect(together.refused).toBeGreaterThan(400);
  });
});
