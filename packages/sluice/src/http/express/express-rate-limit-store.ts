/**
 * The numbers of express-rate-limit in a store of Sluice, by any policy: for applications that are not to be changed yet.
 *
 *      rateLimit({ windowMs: 60_000, limit: 100, store: expressRateLimitStore({ policy: gcra({ limit: 100, window: '1m' }), store }) })
 *
 * express-rate-limit refuses when a store has counted more hits than its limit. Here the policy decides, and hits are what says the same:
 * the limit less what remains; one more than the limit for what is refused.
 */
import { algorithmOf, canDelay } from '../../algorithms/algorithm.ts';
import { type Limiter, limiter } from '../../limit/limiter.ts';
import type { Store } from '../../stores/store.ts';
import { type Answer, andThen, type Mode } from '../../vocabulary/answer.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { invalid, type SluiceError } from '../../vocabulary/errors.ts';
import { knownFields, type Policy } from '../../vocabulary/policy.ts';
import { ownText } from '../own-text.ts';
import { Refusals } from './refusals.ts';

export interface ExpressRateLimitStoreOptions {
  /** What decides. express-rate-limit has to be given the same numbers: `limit` the most at once, `windowMs` the window. */
  readonly policy: Policy;
  /** Where the numbers live. Default: a memory store of its own. */
  readonly store?: Store;
  /** Limits of one name in one store share their keys. Default `'default'`. */
  readonly name?: string;
}

/** A client's hits, as express-rate-limit has them. */
export interface ClientHits {
  totalHits: number;
  /** When a refused client may come back; for others, when all of the limit is there again. */
  resetTime: Date | undefined;
}

/** What express-rate-limit tells a store of its options. */
interface Middleware {
  readonly limit: unknown;
  readonly windowMs: number;
  readonly skipFailedRequests: boolean;
  readonly skipSuccessfulRequests: boolean;
}

/** The `Store` of express-rate-limit 7 and 8. There is nothing to shut down, and no `resetAll`: the store may be shared with others. */
export interface ExpressRateLimitStore {
  readonly localKeys: boolean;
  readonly prefix: string;
  init(middleware: Middleware): void;
  get(key: string): Answer<ClientHits | undefined>;
  increment(key: string): Answer<ClientHits>;
  decrement(key: string): Answer<void>;
  resetKey(key: string): Answer<void>;
}

export function expressRateLimitStore(options: ExpressRateLimitStoreOptions): ExpressRateLimitStore {
  return new SluiceStore(options);
}

// A class, because express-rate-limit tells stores apart by the name of theirs.
class SluiceStore implements ExpressRateLimitStore {
  readonly localKeys: boolean;
  readonly prefix: string;
  readonly #limiter: Limiter<Mode>;
  readonly #policy: Policy;
  /** The most that can pass at once. */
  readonly #limit: number;
  readonly #refusals = new Refusals();
  #givesBack = true;
  #mistake: SluiceError | undefined;

  constructor(options: ExpressRateLimitStoreOptions) {
    knownFields('expressRateLimitStore options', options, 'policy store name');
    const { policy, store, name = 'default' } = options;
    this.#limit = limitOf(policy);
    this.#policy = policy;
    this.#limiter = limiter<Policy, Mode>(policy, { name, ...(store && { store }) });
    this.localKeys = store === undefined || store.mode === 'sync';
    this.prefix = `${name}:`;
  }

  init(middleware: Middleware): void {
    this.#givesBack = middleware.skipFailedRequests || middleware.skipSuccessfulRequests;
    this.#mistake = mistakeIn(middleware, this.#limit, this.#policy.window);
    if (this.#mistake) throw this.#mistake;
  }

  increment(key: string): Answer<ClientHits> {
    // What `init` throws is only logged, and requests come all the same.
    if (this.#mistake) throw this.#mistake;
    const own = ownText(key);
    return andThen(this.#limiter.check(own), (decision) => {
      const hits = this.#hitsOf(decision);
      if (!decision.allowed && this.#givesBack) {
        this.#refusals.note(own, hits.resetTime?.getTime() ?? Number.POSITIVE_INFINITY, Date.now());
      }
      return { ...hits, totalHits: Math.max(1, hits.totalHits) };
    });
  }

  decrement(key: string): Answer<void> {
    if (this.#refusals.mayBe(key, Date.now())) return;
    return andThen(this.#limiter.reward(key), () => {});
  }

  resetKey(key: string): Answer<void> {
    // Afterwards: what was refused while the store was asked was refused by the old count.
    return andThen(this.#limiter.reset(key), () => this.#refusals.forget(key));
  }

  get(key: string): Answer<ClientHits | undefined> {
    return andThen(this.#limiter.peek(key, 0), (decision) =>
      decision.allowed && decision.resetAfterMs === 0 ? undefined : this.#hitsOf(decision),
    );
  }

  #hitsOf({ allowed, remaining, retryAfterMs, resetAfterMs }: Decision): ClientHits {
    const waitMs = allowed ? resetAfterMs : retryAfterMs;
    return {
      totalHits: allowed ? this.#limit - Math.min(remaining, this.#limit) : this.#limit + 1,
      // By the wall clock: it is what express-rate-limit compares with.
      resetTime: waitMs < Number.POSITIVE_INFINITY ? new Date(Date.now() + waitMs) : undefined,
    };
  }
}

/** How many hits the policy lets pass at once. */
function limitOf(policy: Policy): number {
  const { release, prepare } = algorithmOf(policy);
  const wayOut = 'Use rateLimit() of sluice/express.';
  if (release !== undefined)
    throw invalid('policy', 'one of hits in a window; places are not given back by express-rate-limit', policy, wayOut);
  if (canDelay(policy))
    throw invalid('policy', 'one that never delays; express-rate-limit cannot hold back', policy, wayOut);
  const limit = Math.floor(prepare(policy, 0, 0).limit);
  if (limit < 1) throw invalid('policy', 'one that a hit can pass', policy, wayOut);
  return limit;
}

function mistakeIn({ limit, windowMs }: Middleware, most: number, window: number | undefined): SluiceError | undefined {
  if (limit !== most) {
    const wayOut = 'For limits by request use rateLimit() of sluice/express, whose policy may be a function.';
    return invalid(
      'limit of express-rate-limit',
      `${most}, the most at once by the policy of its store`,
      limit,
      wayOut,
    );
  }
  if (windowMs !== window)
    return invalid('windowMs of express-rate-limit', `${window}, the window of its store's policy`, windowMs);
  return undefined;
}
