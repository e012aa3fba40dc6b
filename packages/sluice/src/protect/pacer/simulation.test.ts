import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts';
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { simulate, waitsInLine } from './simulated-clients.test-support.ts';

const rate = { limit: 100, window: '10s' } as const;
const policies: readonly [name: string, policy: Policy][] = [
  ['gcra', gcra(rate)],
  ['token-bucket', tokenBucket(rate)],
  ['fixed-window', fixedWindow(rate)],
  ['sliding-window', slidingWindow(rate)],
  ['sliding-log', slidingLog(rate)],
];

describe.each(policies)('a server that limits by %s', (_, policy) => {
  it.each([1, 10])('never refuses a client that has it for itself and makes %d calls at once', async (workers) => {
    const alone = { policy, windows: 30, clients: 1, workers, latencyMs: 20 };
    const paced = await simulate({ ...alone, isPaced: true });
    expect(paced.refused).toBe(0);
    // And the client gets what there is.
    expect(paced.share).toBeGreaterThan(0.88);
    const unpaced = await simulate({ ...alone, isPaced: false });
    expect(unpaced.refused).toBeGreaterThan(10);
  });

  it('refuses clients that share a limit hardly ever', async () => {
    const together = { policy, windows: 30, clients: 5, workers: 2, latencyMs: 20 };
    const paced = await simulate({ ...together, isPaced: true });
    const unpaced = await simulate({ ...together, isPaced: false });
    expect(paced.refused).toBeLessThan(paced.allowed * 0.03);
    expect(paced.refused).toBeLessThan(unpaced.refused / 4);
    expect(paced.share).toBeGreaterThan(0.7);
  });
});

describe('a client that has the server for itself', () => {
  it('is never refused, whatever the limit', async () => {
    const makers = [gcra, tokenBucket, fixedWindow, slidingWindow, slidingLog] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...makers),
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom(1000, 1500, 3000, 10_000, 60_000),
        fc.nat(7),
        // Where the way takes as long as the window, an answer tells of a time that is over.
        fc.constantFrom(0, 20, 100, 200),
        fc.nat(),
        async (make, limit, window, more, latencyMs, seed) => {
          const policy = make({ limit, window });
          // Nobody can know the limit before the first answer: those who come at once may only be as many as fit.
          const workers = Math.min(1 + more, limit);
          const { refused } = await simulate({
            policy,
            windows: 8,
            clients: 1,
            workers,
            latencyMs,
            isPaced: true,
            seed,
          });
          expect(refused).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('a wait in line', () => {
  const arrivals = [
    fc.integer({ min: 1, max: 30 }),
    fc.constantFrom(1000, 3000, 10_000, 60_000),
    fc.integer({ min: 0, max: 30 }),
    fc.nat(3000),
    fc.integer({ min: 2, max: 40 }),
  ] as const;

  // Headers have whole seconds, so that what they foretell may come earlier by nearly one; and who finds out is waited for for a second
  // at most. Of a window that slides, nobody can tell at first that it does.
  const roundingMs = 1000;

  it('is never foretold as longer than it then is: nobody is turned away who would have been in time', async () => {
    await fc.assert(
      fc.asyncProperty(...arrivals, async (limit, window, before, pauseMs, inLine) => {
        const waits = await waitsInLine({ policy: fixedWindow({ limit, window }), before, pauseMs, inLine });
        expect(waits).toHaveLength(inLine);
        for (const { foretoldMs, waitedMs } of waits) expect(waitedMs + roundingMs).toBeGreaterThanOrEqual(foretoldMs);
      }),
      { numRuns: 200 },
    );
  });

  it('for a bucket that fills up is foretold as longer only by what the first in line waits for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(gcra, tokenBucket),
        ...arrivals,
        async (make, limit, window, before, pauseMs, inLine) => {
          const waits = await waitsInLine({ policy: make({ limit, window }), before, pauseMs, inLine });
          expect(waits).toHaveLength(inLine);
          const firstMs = waits.find(({ foretoldMs }) => foretoldMs > 0)?.foretoldMs ?? 0;
          for (const { foretoldMs, waitedMs } of waits)
            expect(waitedMs + firstMs + roundingMs).toBeGreaterThanOrEqual(foretoldMs);
        },
      ),
      { numRuns: 200 },
    );
  });
});
