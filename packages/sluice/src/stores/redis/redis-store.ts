/**
 * The store in Redis: one server, Sentinel or a cluster, through the caller's own client. One script call applies a whole
 * batch, with the server's clock; see long-way.lua.
 */
import { algorithmOf, mustSupport } from '../../algorithms/algorithm.ts';
import { type Clock, checkTime, longestTimerMs, monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { aboveZero, checkCost, knownFields } from '../../vocabulary/policy.ts';
import { applyAcrossSlots } from '../across-slots.ts';
import { mustBeId, requestText, settledForMs } from '../answer-once.ts';
import { type Check, mustFit, type Store } from '../store.ts';
import { type Connection, connectionOf, type RedisClient } from './connection.ts';
import { dispatcher, scriptCall } from './dispatcher.ts';
import { type Fence, fenceOf } from './fence/fence.ts';
import { fencedKeys, type RedisKeys, redisKeys } from './key.ts';
import { policyTexts } from './script.ts';
import type { Routed } from './wire.ts';

export interface RedisStoreOptions {
  /** The caller's own client: ioredis, iovalkey or node-redis; one server, Sentinel or a cluster. It stays the caller's to close. */
  readonly client: RedisClient;
  /** What every key in Redis begins with. Default `'sluice:'`. */
  readonly prefix?: string;
  /** How long the answer to a request id is remembered. Default 1 minute; behind a fence at most the deadline. */
  readonly replay?: Duration;
  /** The most batches of one turn of the event loop that travel in one call. Default 32: while the server works on one call, the client writes the next. */
  readonly mostTogether?: number;
  /**
   * Refuse what the server may have lost, on failover, restart, fail-back, a flushed database or a moved slot, instead of
   * starting from zero. Default false. As good as docs/guides/redis.md says, and no better: it is not called strict.
   */
  readonly fenced?: boolean | FencedOptions;
  /** What `wait` sleeps by; decisions are by the server's clock. Default: monotonic. */
  readonly clock?: Clock;
}

export interface FencedOptions {
  /** An answer that takes longer is not trusted: the call fails with `store-unavailable`. Default 250 ms. */
  readonly deadline?: Duration;
  /** How far the wall clocks of server and client may differ; strict windows are longer by twice that, and twice the deadline. Default 250 ms. */
  readonly skew?: Duration;
  /** How long a deposed server may go on answering. Default: the server's `cluster-node-timeout`; with Sentinel, a second more than its `min-replicas-max-lag`. Where those are longer they count. */
  readonly nodeTimeout?: Duration;
  /** How much longer than they matter keys are kept: the server's clock may jump ahead by so much. Default 1 minute. */
  readonly grace?: Duration;
  /** Into how many parts the keys of a cluster are divided, each with a guard. Default 4096. All clients of a prefix need the same `partitions`, `skew` and `deadline`. */
  readonly partitions?: number;
}

export interface RedisStoreStats {
  /** Reservations on some slots of a cluster that could not be cancelled when another slot refused; they count as spent. */
  readonly lostCancels: number;
  /** How often a partition was found to have lost something it may have counted. Only with `fenced`. */
  readonly trips: number;
}

export interface RedisStore extends Store<'async'> {
  stats(): RedisStoreStats;
  /** Rejects when a fence is not possible with the server's settings. The first call does the same. */
  ready(): Promise<void>;
}

// Names beyond these are served, but their windows are not told apart.
const mostNames = 10_000;

export function redisStore(options: RedisStoreOptions): RedisStore {
  knownFields('redisStore options', options, 'client prefix replay mostTogether fenced clock');
  const {
    client,
    prefix = 'sluice:',
    replay = '1m',
    mostTogether = 32,
    fenced = false,
    clock = monotonicClock,
  } = options;
  if (typeof prefix !== 'string') throw invalid('prefix', 'a string', prefix);
  // An empty tag is none: what belongs together would be on different slots of a cluster.
  if (/^[^{]*\{\}/.test(prefix)) throw invalid('prefix', 'without {}', prefix, 'A tag such as {sluice} may be in it.');
  if (!Number.isInteger(mostTogether)) throw invalid('mostTogether', 'a whole number above 0', mostTogether);
  aboveZero('mostTogether', mostTogether);
  mustFit(undefined, clock);
  const askedReplayMs = Math.ceil(parseDuration(replay, 'replay'));
  const connection = connectionOf(client);
  const { keys, fence, wideningMs, mostReplayMs } = fenced
    ? fenceFor(connection, prefix, fenced === true ? {} : fenced)
    : { keys: redisKeys(prefix), fence: undefined, wideningMs: 0, mostReplayMs: askedReplayMs };
  const replayMs = Math.min(askedReplayMs, mostReplayMs);
  const policyText = policyTexts(wideningMs);
  const { dispatch } = dispatcher(fence?.call ?? scriptCall(connection), () => clock.now(), mostTogether);
  const stats = { lostCancels: 0 };
  // By name, its longest strict window: a key may come back under that one, so nothing of it is forgotten before.
  const windows = new Map<string, number>();

  function retainMsOf({ name, policy }: Check): number {
    if (!algorithmOf(policy).strict) return 0;
    const longestMs = Math.max(windows.get(name) ?? 0, policy.window ?? 0);
    if (windows.size < mostNames || windows.has(name)) windows.set(name, longestMs);
    return longestMs;
  }

  function route(check: Check): Routed {
    const { name, key, policy, operation } = check;
    if (typeof key !== 'string') throw invalid('key', 'a string', key);
    const algorithm = algorithmOf(policy);
    mustSupport(algorithm, operation ?? 'check');
    const cost = checkCost(check.cost);
    algorithm.mustTake?.(cost);
    const actual = check.actual === undefined ? undefined : checkCost(check.actual);
    return {
      check: cost === check.cost && actual === check.actual ? check : { ...check, cost, actual },
      key: keys.record(name, key),
      policy: policyText(policy, retainMsOf(check)),
    };
  }

  function send(
    checks: readonly Routed[],
    slot: number | undefined,
    atMs: number | undefined,
    requestId: string | undefined,
  ): Promise<Decision[]> {
    const first = checks[0] as Routed;
    const asked = checks.map(({ check }) => check);
    const request =
      requestId === undefined
        ? undefined
        : {
            key: keys.request(first.check.key, requestText(requestId, asked)),
            replayMs: replayMs + Math.ceil(settledForMs(asked)),
          };
    return dispatch({ checks, atMs, request }, slot);
  }

  function begin(
    checks: readonly Check[],
    atMs: number | undefined,
    requestId: string | undefined,
  ): Promise<Decision[]> {
    if (atMs !== undefined) checkTime(atMs);
    if (atMs !== undefined && fence) {
      throw invalid('atMs', 'left out behind a fence', atMs, 'It decides by the time of the server.');
    }
    if (requestId !== undefined) mustBeId(requestId);
    if (checks.length === 0) return Promise.resolve([]);
    const id = requestId ?? (connection.mayResend ? crypto.randomUUID() : undefined);
    const routed = checks.map(route);
    if (!connection.isCluster) return send(routed, undefined, atMs, id);
    const slots = byPlace(routed, keys);
    const [[slot, only] = [0, []]] = slots;
    if (slots.size === 1)
      return send(
        only.map(([, each]) => each),
        slot,
        atMs,
        id,
      );
    return applyAcrossSlots(
      Array.from(slots.values(), (places) => places.map(([place, { check }]) => [place, check] as const)),
      (part, step) => {
        const parts = part.map(route);
        return send(parts, keys.placeOf((parts[0] as Routed).key), atMs, id && `${id} ${step}`);
      },
      id !== undefined,
      () => {
        stats.lostCancels += 1;
      },
    );
  }

  return {
    mode: 'async',
    clock,
    apply(checks, atMs, requestId) {
      // Not an async function: that would cost each call a promise more.
      try {
        return begin(checks, atMs, requestId);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    stats: () => ({ ...stats, trips: fence?.trips() ?? 0 }),
    ready: async () => fence?.ready(),
  };
}

/** The checks by where their keys live, each with its place in the batch. */
function byPlace(checks: readonly Routed[], keys: RedisKeys): Map<number, [place: number, routed: Routed][]> {
  const places = new Map<number, [number, Routed][]>();
  for (const [i, routed] of checks.entries()) {
    const place = keys.placeOf(routed.key);
    const others = places.get(place) ?? [];
    others.push([i, routed]);
    places.set(place, others);
  }
  return places;
}

interface FenceParts {
  readonly keys: RedisKeys;
  readonly fence: Fence;
  /** How much longer strict windows are. */
  readonly wideningMs: number;
  /** How long an answer may be given again. */
  readonly mostReplayMs: number;
}

function fenceFor(connection: Connection, prefix: string, options: FencedOptions): FenceParts {
  knownFields('fenced', options, 'deadline skew nodeTimeout grace partitions');
  if (/[{}]/.test(prefix)) throw invalid('prefix', 'without braces behind a fence', prefix);
  const { deadline = '250ms', skew = '250ms', nodeTimeout, grace = '1m', partitions = 4096 } = options;
  if (!Number.isInteger(partitions) || partitions < 1 || partitions > 16_384) {
    throw invalid('partitions', 'a whole number from 1 to 16384', partitions);
  }
  const times = {
    deadlineMs: parseDuration(deadline, 'deadline'),
    skewMs: parseDuration(skew, 'skew'),
    nodeTimeoutMs: nodeTimeout === undefined ? undefined : parseDuration(nodeTimeout, 'nodeTimeout'),
    graceMs: Math.ceil(parseDuration(grace, 'grace')),
  };
  // A longer timer fires at once.
  if (times.deadlineMs > longestTimerMs) throw invalid('deadline', `at most ${longestTimerMs} ms`, deadline);
  // One server is one partition: it loses everything or nothing.
  const keys = fencedKeys(prefix, connection.isCluster ? partitions : 1);
  const fence = fenceOf(connection, times, keys.guards, keys.guardOf);
  const mostReplayMs = Math.ceil(times.deadlineMs);
  // A grant may be used as late as the deadline, and be asked for again as late as that; and the server's clock may move from
  // one end of the skew to the other.
  return { keys, fence, wideningMs: 2 * times.skewMs + times.deadlineMs + mostReplayMs, mostReplayMs };
}
