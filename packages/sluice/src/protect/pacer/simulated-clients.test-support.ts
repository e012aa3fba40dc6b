/** Clients that want more than a server allows, over a network that takes its time, in a time that passes at once. */
import { rateLimitHeaders } from '../../http/rate-limit-headers.ts';
import { limiter } from '../../limit/limiter.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { PassingClock } from '../passing-clock.test-support.ts';
import { pacer } from './pacer.ts';

export interface Simulation {
  readonly policy: Policy;
  readonly windows: number;
  /** Each has a pacer of its own, and all of them one budget. */
  readonly clients: number;
  /** Calls that each client makes at once, each again as soon as it is answered. */
  readonly workers: number;
  /** The longest way to the server, and the longest back. */
  readonly latencyMs: number;
  /** Without it they wait for as long as they are told when they were refused, and no more. */
  readonly isPaced: boolean;
  readonly seed?: number;
}

export interface Outcome {
  readonly allowed: number;
  readonly refused: number;
  /** Of what the limit allows over the time. */
  readonly share: number;
}

export async function simulate(simulation: Simulation): Promise<Outcome> {
  const { policy, windows, clients, workers, latencyMs, isPaced, seed = 1 } = simulation;
  const random = seededRandom(seed);
  const clock = new PassingClock(1_750_000_000_123);
  const server = limiter(policy, { clock }) as { check(key: string): Decision };
  const forMs = windows * policy.window!;
  const endMs = clock.now() + forMs;
  let allowed = 0;
  let refused = 0;

  async function call(): Promise<{ readonly headers: Record<string, string>; readonly status: number }> {
    await clock.sleep(1 + latencyMs * random());
    const decision = server.check('all');
    if (decision.allowed) allowed += 1;
    else refused += 1;
    const headers = rateLimitHeaders(decision, { nowMs: clock.now() });
    await clock.sleep(1 + latencyMs * random());
    return { headers, status: decision.allowed ? 200 : 429 };
  }

  for (let client = 0; client < clients; client += 1) {
    const pace = pacer({ clock, random, maxDelay: '1d' });
    for (let worker = 0; worker < workers; worker += 1) {
      void (async () => {
        while (clock.now() < endMs) {
          if (isPaced) await pace.run('all', call);
          else await clock.sleep(1000 * Number((await call()).headers['Retry-After'] ?? 0));
        }
      })();
    }
  }
  await clock.pass(forMs);
  return { allowed, refused, share: allowed / (windows * policy.limit) };
}

export interface InLine {
  readonly policy: Policy;
  /** Calls that are made one after the other before that, and how long after the last of them the others come. */
  readonly before: number;
  readonly pauseMs: number;
  /** Calls that then come at once. */
  readonly inLine: number;
}

/** How long each was told that it would have to wait, and how long it then did. */
export async function waitsInLine({ policy, before, pauseMs, inLine }: InLine) {
  const clock = new PassingClock(1_750_000_000_123);
  const server = limiter(policy, { clock }) as { check(key: string): Decision };
  const pace = pacer({ clock, random: () => 0.5, maxDelay: '1d' });
  const answer = () => {
    const decision = server.check('all');
    return { headers: rateLimitHeaders(decision, { nowMs: clock.now() }), status: decision.allowed ? 200 : 429 };
  };
  for (let call = 0; call < before; call += 1) {
    void pace.run('all', answer);
    await clock.pass(1);
  }
  await clock.pass(pauseMs);
  const sinceMs = clock.now();
  const waits: { readonly foretoldMs: number; readonly waitedMs: number }[] = [];
  for (let call = 0; call < inLine; call += 1) {
    const foretoldMs = pace.delayMs('all');
    void pace.run('all', () => {
      waits.push({ foretoldMs, waitedMs: clock.now() - sinceMs });
      return answer();
    });
  }
  await clock.pass(20 * 60 * policy.window!);
  return waits;
}
