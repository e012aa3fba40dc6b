/** One vocabulary of options for every framework; only the types of requests, responses and handlers differ. */
import type { DegradeOptions } from '../../layers/degrade/degrade.ts';
import type { Rule, Rules, RulesResult } from '../../limit/rules.ts';
import type { Subject } from '../../limit/subject.ts';
import type { Store } from '../../stores/store.ts';
import type { Answer, Mode } from '../../vocabulary/answer.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import type { StoreFailureMode } from '../../vocabulary/decision.ts';
import type { Duration } from '../../vocabulary/duration.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { ForwardingHeader, TrustedProxies } from '../client-ip.ts';
import type { ProblemBody } from '../problem-body.ts';
import type { HeaderDialect, RateLimitHeaderOptions, RateLimitHeaders } from '../rate-limit-headers.ts';

/** A request that was refused, and how to say so. */
export interface Refused {
  /** What the limits said; without decisions when a deny-list did. */
  readonly result: RulesResult;
  /** 429 when a limit refused, 503 when the store could not say. */
  readonly status: 429 | 503;
  readonly headers: RateLimitHeaders;
  /** The body of `application/problem+json`. */
  readonly problem: ProblemBody;
}

/** How a response ended. */
export interface Outcome<Response> {
  /**
   * What the client was told; 499 when it left before it was told anything, whatever the handler would have said. (A runtime of fetch-style
   * handlers does not say when it sends the head: it counts as sent once the body is read.)
   */
  readonly status: number;
  /** False when the client left, or the handler failed, before all of it was sent. */
  readonly isComplete: boolean;
  readonly response: Response;
}

/** The status of a response of which nobody has seen the head. The number is nginx's. */
export const leftStatus = 499;

/** What `rules()` makes, over any store. */
export type SharedRules = Pick<Rules<Mode>, 'check' | 'reserve' | 'release'>;

/** What is limited: one policy, or rules. */
export type RateLimitOptions<Request, Response, Handler> = CommonOptions<Request, Response, Handler> &
  (PolicyOptions<Request> | RulesOptions<Request>);

export interface PolicyOptions<Request> {
  /** The limit, or a function that gives one for the request. */
  readonly policy: Policy | ((request: Request) => Policy);
  /** Names the limit in headers and in the store: limits of one name in one store share their keys. Default `'default'`. */
  readonly name?: string;
  /**
   * Who is limited. Default: the client's address, IPv6 by subnet. A request without a key is limited by its address too, and a key that is
   * an address counts as addresses do.
   */
  readonly key?: (request: Request) => Answer<string | undefined>;
  readonly rules?: never;
  readonly subject?: never;
}

export interface RulesOptions<Request> {
  /** Many limits at once, all or nothing; or what `rules()` made of them, to be shared and changed at run time. */
  readonly rules: readonly Rule[] | SharedRules;
  /** What is known of a request besides `ip`, `method` and `path`: the fields that rules have their keys from. */
  readonly subject?: (request: Request) => Answer<Subject>;
  readonly policy?: never;
  readonly name?: never;
  readonly key?: never;
}

export interface CommonOptions<Request, Response, Handler> {
  /** Where the numbers live. Default: a memory store of its own. */
  readonly store?: Store;
  /** Default: the store's. */
  readonly clock?: Clock;
  /** The most keys of the memory store of its own. Default 1,000,000. */
  readonly maxKeys?: number;
  /**
   * What to do when a store that can fail does: `'closed'` answers 503, `'open'` lets everything pass, `'local'` decides in this process;
   * or all that `degrade()` takes. It has one second to answer. Default `'closed'`.
   */
  readonly onStoreFailure?: StoreFailureMode | DegradeOptions;
  /** The proxies that you run: how many, or their addresses. Default: what the framework was told, if it can be told; else none. */
  readonly trustProxy?: TrustedProxies;
  /** The header that your proxies write. Default `'x-forwarded-for'`. */
  readonly forwardingHeader?: ForwardingHeader;
  /** Bits of an IPv6 address that count: 32 to 128. Default 56. */
  readonly ipv6Subnet?: number;
  /** Requests that are not limited. */
  readonly skip?: (request: Request) => Answer<boolean>;
  /** How much a request takes. Default 1. */
  readonly cost?: number | ((request: Request) => Answer<number>);
  /**
   * What it really took, known from the response: 0 for a log-in that succeeded, the tokens an answer used. `cost` is held until then, so that
   * no more are let in at once than could all have to be paid for.
   */
  readonly costAfter?: (request: Request, outcome: Outcome<Response>) => Answer<number>;
  /** How long a response may take before what was held for `costAfter` counts as spent. Default 1 minute. */
  readonly expiresIn?: Duration;
  /** Counted and reported, but nobody is refused. Default false. */
  readonly shadow?: boolean;
  /** The longest that a shaping policy may hold a request back; beyond, it is refused. Default 30 seconds. */
  readonly maxDelay?: Duration;
  /**
   * Which headers to write, or none (`Retry-After` is always there when waiting helps); with `{ dialect, reset: 'delta' }`
   * `X-RateLimit-Reset` is the seconds from now. Default `['x-ratelimit', 'draft-8']`.
   */
  readonly headers?:
    | HeaderDialect
    | readonly HeaderDialect[]
    | false
    | Pick<RateLimitHeaderOptions, 'dialect' | 'reset'>;
  /** Answers what is refused, instead of `application/problem+json`. The headers are written already. */
  readonly handler?: Handler;
  /** Told of every result, shadow rules' included. */
  readonly onResult?: (request: Request, result: RulesResult) => void;
  /** Told of what goes wrong where the framework cannot be told, as after the response. Default: a warning of the process. */
  readonly onError?: (error: unknown) => void;
  /** Told of likely mistakes in the set-up, once each; `false` to hear of none. Default: a warning of the process. */
  readonly warn?: ((message: string) => void) | false;
}

export const optionFields =
  'policy name key rules subject store clock maxKeys onStoreFailure trustProxy forwardingHeader ipv6Subnet skip cost costAfter expiresIn shadow maxDelay headers handler onResult onError warn';
