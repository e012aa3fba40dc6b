import type { Policy } from './policy.ts';

/** Why a call was refused. */
export type Reason =
  /** The limit itself. */
  | 'limit'
  /** The key was blocked with `block()`. */
  | 'blocked'
  /** The store is full of live keys and the policy may not forget one to make room. */
  | 'store-full'
  /** The store did not answer, and the rule fails closed; `degraded` is `'closed'`. */
  | 'store-failure'
  /** The store may have lost what was used, and refuses until that no longer matters (`fenced` Redis). */
  | 'quarantine'
  /** `wait()`: too many are waiting already. */
  | 'too-many-waiters'
  /** `wait()`: the wait would be longer than the caller gave. */
  | 'max-wait';

/** A few numbers, of meaning to the algorithm that wrote them only. */
export type Receipt = readonly number[];

/** What a limit answered: the same fields from every algorithm in every store. */
export interface Decision {
  /** The answer. When false, nothing was taken anywhere (unless the policy counts rejected calls). */
  readonly allowed: boolean;
  /** The most that could ever pass at once (of single calls, where one may borrow from the future: `smooth`). */
  readonly limit: number;
  /** Whole units of cost that would pass right now, after this call. Never negative. */
  readonly remaining: number;
  /** 0 when allowed; else the shortest wait, in whole milliseconds, after which the same call would pass. `Infinity`: never. */
  readonly retryAfterMs: number;
  /** Whole milliseconds until the key is as good as new. */
  readonly resetAfterMs: number;
  /** Shaping algorithms say "yes, but wait this long"; 0 elsewhere. */
  readonly delayMs: number;
  /** The name of the rule or limiter that answered. */
  readonly rule: string;
  /** The policy that was applied. */
  readonly policy: Policy;
  /** Why not; only on a refusal. */
  readonly reason?: Reason;
  /** How much was taken; only from `take()`. */
  readonly granted?: number;
  /** What `settle`, `release` and `renew` need to find this charge again; only from `reserve` and `acquire` operations. */
  readonly receipt?: Receipt;
  /** True on the decision of a shadow rule: reported, never enforced. */
  readonly shadow?: true;
  /** Only when the store did not answer: what was done instead. */
  readonly degraded?: StoreFailureMode;
  /** True when a layer answered with what the store said a moment ago (`denyCache`). */
  readonly remembered?: true;
}

/** What a rule does when its store fails. */
export type StoreFailureMode = 'closed' | 'open' | 'local';
