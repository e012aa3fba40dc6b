import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../vocabulary/random.ts';
import { PassingClock, turn } from '../passing-clock.test-support.ts';
import { type Fetch, resilientFetch } from './resilient-fetch.ts';

/** After so long it answers with a status (0: an error); it may be deaf to its signal. */
interface Reply {
  readonly afterMs: number;
  readonly status: number;
  readonly isDeaf: boolean;
  readonly headers: Record<string, string>;
}

const reply: fc.Arbitrary<Reply> = fc.record({
  afterMs: fc.constantFrom(0, 0, 1, 50, 5000),
  status: fc.constantFrom(200, 200, 404, 429, 500, 503, 0),
  isDeaf: fc.boolean(),
  headers: fc.constantFrom<Record<string, string>>(
    {},
    { 'Retry-After': '2' },
    { 'Retry-After': '3600' },
    { RateLimit: '"p";r=0;t=3' },
    { RateLimit: '"p";r=2;t=5', 'RateLimit-Policy': '"p";q=10;w=5' },
  ),
});

const options = fc.record(
  {
    retry: fc.constantFrom(false as const, { attempts: 4, baseDelay: 10 }),
    pacer: fc.constantFrom(false as const, { maxDelay: 4000 }),
    bulkhead: fc.constantFrom(false as const, { limit: 1, queue: 2 }),
    adaptiveThrottle: fc.constantFrom(false as const, { minRequests: 2 }),
    circuitBreaker: fc.constantFrom(false as const, { consecutiveFailures: 2, openFor: 1000 }),
    timeout: fc.constantFrom(false as const, 1000),
    totalTimeout: fc.constantFrom(false as const, 3000),
    maxOrigins: fc.constantFrom(1, 10),
  },
  { requiredKeys: [] },
);

const call = fc.record({
  atMs: fc.nat(3000),
  host: fc.constantFrom('a', 'b'),
  method: fc.constantFrom('GET', 'POST'),
  /** When its caller gives up; it may never. */
  abortAfterMs: fc.option(fc.nat(8000), { nil: undefined }),
});

describe('whatever the server does, and whenever callers give up', () => {
  it('every call ends, nothing is left behind, and no answer but the one returned is held', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(reply, { minLength: 1, maxLength: 8 }),
        fc.array(call, { minLength: 1, maxLength: 6 }),
        options,
        fc.nat(),
        fc.option(fc.nat(10_000), { nil: undefined }),
        async (replies, calls, given, seed, stepBackAtMs) => {
          const clock = new PassingClock(1_750_000_000_000);
          const held = new Set<Response>();
          let number = 0;
          const fake: Fetch = async (_, init) => {
            const { afterMs, status, isDeaf, headers } = replies[number % replies.length]!;
            number += 1;
            init!.signal!.throwIfAborted();
            await clock.sleep(afterMs, isDeaf ? undefined : init!.signal!);
            if (status === 0) throw new TypeError('fetch failed');
            const body = new ReadableStream({ cancel: () => void held.delete(response) });
            const response = new Response(body, { status, headers });
            held.add(response);
            // As with any fetch, the signal ends the body too.
            init!.signal!.addEventListener('abort', () => held.delete(response));
            return response;
          };
          const fetch = resilientFetch({ ...given, clock, random: seededRandom(seed), fetch: fake });
          const aborts: AbortSignal[] = [];
          const returned: Response[] = [];
          let ended = 0;
          for (const { atMs, host, method, abortAfterMs } of calls) {
            void (async () => {
              await clock.sleep(atMs);
              const controller = new AbortController();
              aborts.push(controller.signal);
              if (abortAfterMs !== undefined)
                void clock.sleep(abortAfterMs).then(() => controller.abort(new Error('enough')));
              await fetch(`https://${host}.example.com/`, { method, signal: controller.signal }).then(
                (response) => void returned.push(response),
                () => undefined,
              );
              ended += 1;
            })();
          }
          if (stepBackAtMs !== undefined) void clock.sleep(stepBackAtMs).then(() => clock.set(clock.now() - 500));
          // The longest there can be: 4 attempts of 5 s each for each of 6 calls, one after the other, and waits of a few seconds.
          for (let i = 0; i < 40 && (ended < calls.length || clock.sleeping > 0); i += 1) await clock.pass(10_000);
          await turn();
          expect(ended).toBe(calls.length);
          expect(clock.sleeping).toBe(0);
          expect(fetch.origins().every(({ inFlight }) => inFlight === 0)).toBe(true);
          expect([...held].every((response) => returned.includes(response))).toBe(true);
          // Only bodies that may still be read listen to a signal that was not aborted.
          const listening = aborts.filter((signal) => getEventListeners(signal, 'abort').length > 0);
          expect(listening.length).toBeLessThanOrEqual(returned.length);
        },
      ),
      { numRuns: 300 },
    );
  });
});
