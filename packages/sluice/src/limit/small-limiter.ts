/**
 * A limiter in a fifth of the code, for where each byte is sent: a page, a worker at the edge.
 *
 *      smallLimiter(gcra({ limit: 5, window: '1s' })).allow('search')
 *
 * It decides as `limiter()` does, by the same algorithms, over a plain `Map`: one policy, the four calls that most need, and no store to share, nothing to
 * reserve, to wait for or to change.
 */
import { algorithmOf } from '../algorithms/algorithm.ts';
import { storeFull } from '../stores/memory/namespace.ts';
import { chargeRow, freshRow } from '../stores/memory/table.ts';
import { type Clock, checkClock, checkTime, monotonicClock } from '../vocabulary/clock.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import { checkCost, knownFields, type Policy } from '../vocabulary/policy.ts';

export interface SmallLimiterOptions {
  readonly clock?: Clock;
  /** The most keys; when all of them matter, newcomers are refused. Default 10,000. */
  readonly maxKeys?: number;
  /** What decisions call it: their `rule`. Default `'limiter'`. */
  readonly name?: string;
}

export interface SmallLimiter {
  /** Takes the cost (default 1) if it fits, and says so. */
  check(key: string, cost?: number): Decision;
  /** `check`, when only the answer matters. */
  allow(key: string, cost?: number): boolean;
  /** What `check` would answer; changes nothing. */
  peek(key: string, cost?: number): Decision;
  /** Forgets the key. */
  reset(key: string): void;
}

// How many keys a newcomer makes it look at: none while they are few, and some more when it is full.
const fewKeys = 1024;
const looksPerNewcomer = 2;
const looksWhenFull = 32;
// And for how long one has to be as good as new, so that a clock that steps back a little finds it.
const idleMs = 1000;

export function smallLimiter(policy: Policy, options: SmallLimiterOptions = {}): SmallLimiter {
  knownFields('smallLimiter options', options, 'clock maxKeys name');
  const { clock = monotonicClock, name: rule = 'limiter' } = options;
  if (typeof rule !== 'string') throw invalid('name', 'a string', rule);
  checkClock(clock);
  const { maxKeys = 10_000 } = options;
  if (!(Number.isInteger(maxKeys) && maxKeys > 0)) throw invalid('maxKeys', 'a whole number above 0', maxKeys);
  const algorithm = algorithmOf(policy);
  if (algorithm.release)
    throw new SluiceError(
      'unsupported-operation',
      `smallLimiter() cannot give back what ${algorithm.name} takes. Use limiter().`,
    );
  const numbers = algorithm.prepare(policy, clock.stalenessMs ?? 0, 0);
  const lingerMs = algorithm.lingerMs?.(numbers) ?? 0;
  const { limit } = numbers;
  const now = () => checkTime(clock.now(), 'the time of the clock');
  // What the rows of the memory store have in common.
  const kind = { algorithm, numbers, sinceMs: now() };
  const rows = new Map<string, Float64Array>();
  let hand = rows.entries();
  let forgotUpToMs = Number.NEGATIVE_INFINITY;

  const asNewInMs = (cells: Float64Array, nowMs: number) => algorithm.asNewInMs(cells, 0, numbers, nowMs);
  const isOver = (cells: Float64Array, nowMs: number) => asNewInMs(cells, nowMs) + lingerMs <= 0;

  /** Forgets those among the next few that are as good as new. Says whether there is room for one more. */
  function makeRoom(nowMs: number): boolean {
    const isFull = rows.size >= maxKeys;
    const most = isFull ? looksWhenFull : rows.size >= fewKeys ? looksPerNewcomer : 0;
    for (let looks = most; looks > 0; looks -= 1) {
      let next = hand.next();
      if (next.done) {
        hand = rows.entries();
        next = hand.next();
      }
      if (next.done) break;
      const [key, cells] = next.value;
      if (!isOver(cells, isFull ? nowMs : nowMs - idleMs)) continue;
      rows.delete(key);
      forgotUpToMs = Math.max(forgotUpToMs, nowMs);
    }
    return rows.size < maxKeys;
  }

  function newcomer(nowMs: number): Float64Array {
    const cells = freshRow(kind, nowMs);
    // A clock that stepped back behind the latest forgetting cannot tell a newcomer from a key forgotten too early.
    return nowMs < forgotUpToMs ? chargeRow(kind, cells, limit, nowMs) : cells;
  }

  function decide(key: string, given: number, isPeek: boolean): Decision {
    mustBeKey(key);
    const cost = checkCost(given);
    const nowMs = now();
    const row = rows.get(key);
    const known = row && lingerMs > 0 && isOver(row, nowMs) ? undefined : row;
    let cells = known ?? newcomer(nowMs);
    const wait = () => (cost === 0 ? 0 : algorithm.wait(cells, 0, numbers, cost, nowMs, Number.POSITIVE_INFINITY));
    let waitMs = wait();
    const allowed = waitMs === 0;
    const delayMs = (allowed && cost > 0 && algorithm.delay?.(cells, 0, numbers, cost, nowMs)) || 0;
    // A refusal writes nothing, unless it counts, or the key would start anew each time.
    const isWritten = allowed
      ? cost > 0
      : !isPeek && (numbers.countRejected || (!known && asNewInMs(cells, nowMs) > 0));
    const hasRoom = isPeek || row !== undefined || !isWritten || makeRoom(nowMs);
    if (isWritten && hasRoom) {
      if (isPeek) cells = cells.slice();
      if (allowed) cells = chargeRow(kind, cells, cost, nowMs);
      else if (numbers.countRejected) {
        cells = algorithm.reject?.(cells, numbers, cost, nowMs) ?? cells;
        waitMs = wait();
      }
      if (!isPeek) rows.set(key, cells);
    }
    const available = algorithm.available(cells, 0, numbers, nowMs);
    const decision: Decision = {
      allowed,
      limit,
      remaining: available >= 1 ? Math.floor(available) : 0,
      retryAfterMs: waitMs,
      resetAfterMs: Math.max(0, Math.ceil(asNewInMs(cells, nowMs))),
      delayMs,
      rule,
      policy,
      ...(!allowed && { reason: 'limit' }),
    };
    return allowed && !hasRoom ? { ...decision, delayMs: 0, ...storeFull } : decision;
  }

  function reset(key: string): void {
    mustBeKey(key);
    const nowMs = now();
    // Forgotten, the key would be taken for one that is worse off.
    const isDoubtful = asNewInMs(newcomer(nowMs), nowMs) > 0;
    if (isDoubtful && (rows.has(key) || makeRoom(nowMs))) rows.set(key, freshRow(kind, nowMs));
    else rows.delete(key);
  }

  return {
    check: (key, cost = 1) => decide(key, cost, false),
    allow: (key, cost = 1) => decide(key, cost, false).allowed,
    peek: (key, cost = 1) => decide(key, cost, true),
    reset,
  };
}

function mustBeKey(key: string): void {
  if (typeof key !== 'string') throw invalid('key', 'a string', key);
}
