/** What a load generator is told, and what it tells afterwards. Plain data: it travels to a process of its own and back. */

export type Protocol = 'http' | 'resp' | 'grpc';

/** What is asked, over and over, each time about another key. `{key}` stands for twelve digits; `{id}` too, of the Redis protocol, never the same. */
export type Question =
  | { readonly protocol: 'http'; readonly path: string; readonly body: string }
  | { readonly protocol: 'resp'; readonly words: readonly string[] }
  | { readonly protocol: 'grpc'; readonly domain: string; readonly entry: string; readonly value: string };

/**
 * Closed: so many are under way all the time; each answer is followed by the next request. It finds out how much the service can do.
 * Open: requests have their times, answered or not; it finds out how long a request takes at that rate.
 */
export type Loop =
  | { readonly kind: 'closed'; readonly inFlightPerConnection: number; readonly requests?: number }
  | { readonly kind: 'open'; readonly perSecond: number };

export interface LoadOrder {
  readonly host: string;
  readonly port: number;
  readonly question: Question;
  readonly connections: number;
  /** How many different ones. */
  readonly keys: number;
  /** Random, or each in its turn: so are all of them there in the end. */
  readonly keyOrder: 'random' | 'sequential';
  /** Only keys of these slots of a cluster, from and to: those that the node at this address owns. Default: all. */
  readonly slots?: readonly (readonly [from: number, to: number])[];
  readonly loop: Loop;
  /** A closed loop with `requests` ends earlier when they are answered. */
  readonly durationMs: number;
  /** Before it, as fast as it goes and not counted: compilers have seen the code, here and there. */
  readonly warmUpMs: number;
}

export interface LoadReport {
  readonly requests: number;
  readonly answered: number;
  /** Answers that were no decision, broken connections, and requests that were never answered. */
  readonly errors: number;
  /** Of the first error, in words. */
  readonly firstError: string | undefined;
  readonly elapsedMs: number;
  /** Answered, errors not counted. */
  readonly perSecond: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /**
   * Open loop: how long after its time a request was sent, which is part of its latency. When it is large the generator had not
   * enough processor, or the service not enough room.
   */
  readonly sentLateP99Ms: number;
  /** Of a generator that is a process of its own: what it took of the processor. */
  readonly processorMs?: number;
}
