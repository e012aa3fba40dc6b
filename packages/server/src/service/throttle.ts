/**
 * CL.THROTTLE as redis-cell answers it, number by number.
 *
 *      CL.THROTTLE key max_burst count_per_period period_seconds [quantity]
 *      emission interval = period / count, in whole nanoseconds;  tolerance = interval * (max_burst + 1)
 *
 * redis-cell keeps one number per key, the moment at which all that was used has drained, whatever numbers come with each call. So
 * here a key's bucket holds *time*: a call costs the nanoseconds that its quantity takes to drain, the bucket drains a million
 * nanoseconds per millisecond and holds as many as the tolerance has. A call with other numbers finds the time that is left.
 *
 * One thing is not as redis-cell has it. A bucket holds 2^50 nanoseconds at most, so where the tolerance is longer (1,125,899 seconds,
 * 13 days) the unit is a microsecond, and the key's state another. A key whose numbers cross that line from one call to the next is new
 * on the other side, and what it used on this side is there again when its numbers come back. One state for both would take a look
 * at two buckets with each call, or a unit that rounds.
 */
import { isUtf8 } from 'node:buffer';
import {
  type Decision,
  type DirectChecks,
  type GcraPolicy,
  gcra,
  type Limiter,
  limiter,
  type Mode,
  type Store,
} from 'sluice';
import type { Answer, ThrottleNumbers, ThrottleReply } from './service.ts';

/** What redis-cell says of a call that it cannot answer. */
export class ThrottleError extends Error {
  constructor(message: string) {
    super(`Cell error: ${message}`);
    this.name = 'ThrottleError';
  }
}

/** All keys of CL.THROTTLE share this name. */
export const throttleName = 'cl.throttle';

// The most that a bucket of the library holds. In nanoseconds that is 13 days; slower ones are counted in microseconds.
const largest = 2 ** 50;
const nanosecondsPerMs = 1_000_000;

// Numbers that clients choose: so many are kept ready, the rest is made anew.
const mostReady = 10_000;

/** Limits with the same numbers. */
interface Ready extends ThrottleNumbers {
  readonly intervalNs: number;
  readonly toleranceNs: number;
  /** Nanoseconds in one unit of the bucket. */
  readonly unitNs: number;
  /** What the keys are held under. */
  readonly name: string;
  /** Undefined where nothing can ever pass. */
  readonly limit: Limiter<Mode> | undefined;
  /** A shorter way to the same keys, of stores that have one. */
  readonly direct: Required<DirectChecks> | undefined;
}

/** The reply, and whether it is only what is said when the store fails. */
export interface ThrottleAnswer extends ThrottleReply {
  readonly isStoreFailure: boolean;
}

export class Throttle {
  private readonly store: Store;
  private readonly ready = new Map<string, Ready>();
  private last: Ready | undefined;

  constructor(store: Store) {
    this.store = store;
  }

  /** The reply object is the same one at each call that is answered at once. */
  check(
    bytes: Uint8Array,
    start: number,
    end: number,
    numbers: ThrottleNumbers,
    quantity: number,
  ): Answer<ThrottleAnswer> {
    const ready = this.readyFor(numbers);
    const { limit, intervalNs, unitNs } = ready;
    const neededNs = intervalNs * quantity;
    if (limit === undefined) return reply(this.reply, ready, 0, neededNs);
    if (quantity < 0) {
      const given = limit.reward(mustBeText(bytes, start, end), Math.min(-neededNs / unitNs, largest));
      return this.answer(ready, bytes, start, end, neededNs, given);
    }
    const isAllowed = ready.direct?.allowBytes(bytes, start, end, costOf(ready, neededNs));
    if (isAllowed !== undefined) {
      const resetAfterNs = this.resetDirectly(ready, bytes, start, end);
      return reply(this.reply, ready, resetAfterNs, neededNs, isAllowed);
    }
    return this.answer(
      ready,
      bytes,
      start,
      end,
      neededNs,
      limit.checkBytes(bytes, start, end, costOf(ready, neededNs)),
    );
  }

  /** How long until the key is as good as new that was asked for last, by the short way. */
  private resetDirectly(ready: Ready, bytes: Uint8Array, start: number, end: number): number {
    const direct = ready.direct!;
    const remaining = direct.remaining();
    // Where something is left, that says it.
    const resetAfterMs = remaining > 0 ? 0 : direct.resetAfterMs();
    return (
      resetNs(ready, remaining, resetAfterMs) ?? (this.lookCloser(ready, bytes, start, end, resetAfterMs) as number)
    );
  }

  private answer(
    ready: Ready,
    bytes: Uint8Array,
    start: number,
    end: number,
    neededNs: number,
    decision: Answer<Decision>,
  ): Answer<ThrottleAnswer> {
    // A promise per call would cost as much as the check, so what is there at once is answered at once.
    if (decision instanceof Promise) {
      return decision.then(async (known) => {
        if (!isOfBucket(known)) return plainReply(blank(), ready, known);
        const { allowed, remaining, resetAfterMs } = known;
        const resetAfterNs =
          resetNs(ready, remaining, resetAfterMs) ?? (await this.lookCloser(ready, bytes, start, end, resetAfterMs));
        return reply(blank(), ready, resetAfterNs, neededNs, allowed);
      });
    }
    if (!isOfBucket(decision)) return plainReply(this.reply, ready, decision);
    const { allowed, remaining, resetAfterMs } = decision;
    const resetAfterNs =
      resetNs(ready, remaining, resetAfterMs) ?? (this.lookCloser(ready, bytes, start, end, resetAfterMs) as number);
    return reply(this.reply, ready, resetAfterNs, neededNs, allowed);
  }

  /** How long until a key is as good as new that holds more than its burst: a question to a bucket with room for all. */
  private lookCloser(
    { unitNs, name }: Ready,
    bytes: Uint8Array,
    start: number,
    end: number,
    resetAfterMs: number,
  ): Answer<number> {
    const key = textOf(bytes, start, end);
    if (key === undefined) return resetAfterMs * nanosecondsPerMs;
    const drain = nanosecondsPerMs / unitNs;
    const roomy = limiter(gcra({ limit: drain, window: 1, burst: largest }), { store: this.store, name });
    const decision = roomy.peek(key, 0) as Answer<Decision>;
    const exactly = ({ remaining }: Decision) => (largest - remaining) * unitNs;
    return decision instanceof Promise ? decision.then(exactly) : exactly(decision);
  }

  private readonly reply = blank();

  private readyFor(numbers: ThrottleNumbers): Ready {
    const { last } = this;
    const { maxBurst, count, periodSeconds } = numbers;
    if (last && last.maxBurst === maxBurst && last.count === count && last.periodSeconds === periodSeconds) return last;
    const id = `${maxBurst} ${count} ${periodSeconds}`;
    let ready = this.ready.get(id);
    if (ready === undefined) {
      ready = prepare(numbers, this.store);
      if (this.ready.size >= mostReady) this.ready.clear();
      this.ready.set(id, ready);
    }
    this.last = ready;
    return ready;
  }
}

function prepare({ maxBurst, count, periodSeconds }: ThrottleNumbers, store: Store): Ready {
  if (count === 0 || periodSeconds === 0) throw new ThrottleError('Zero rates are not supported');
  if (count < 0 || periodSeconds < 0) throw new ThrottleError('Negative rates are not supported');
  const interval = (BigInt(periodSeconds) * 1_000_000_000n) / BigInt(count);
  if (interval === 0n) throw new ThrottleError('Zero rates are not supported');
  const tolerance = interval * (BigInt(maxBurst) + 1n);
  const unitNs = tolerance <= largest ? 1 : 1000;
  // Whole units, so that nothing rounds: a burst is full exactly when it is full.
  const intervalUnits = Math.floor(Number(interval) / unitNs);
  const units = intervalUnits * (maxBurst + 1);
  if (units > largest || intervalUnits < 1) {
    throw new ThrottleError('A burst that takes more than 35 years to drain is not supported');
  }
  // Slow buckets have a name of their own: their unit is another.
  const name = unitNs === 1 ? throttleName : `${throttleName}/slow`;
  const policy = units < 1 ? undefined : gcra({ limit: nanosecondsPerMs / unitNs, window: 1, burst: units });
  return {
    maxBurst,
    count,
    periodSeconds,
    intervalNs: intervalUnits * unitNs,
    toleranceNs: units * unitNs,
    unitNs,
    name,
    limit: policy && (limiter(policy, { store, name }) as Limiter<Mode>),
    direct: policy && directOf(store, name, policy),
  };
}

/** Only where all is told that a reply needs. */
function directOf(store: Store, name: string, policy: GcraPolicy): Required<DirectChecks> | undefined {
  const direct = store.direct?.(name, policy, store.clock.now());
  return direct?.remaining && direct.resetAfterMs ? (direct as Required<DirectChecks>) : undefined;
}

/** In units of the bucket. More than fits never passes; the bucket need not know how much more. */
function costOf({ toleranceNs, unitNs }: Ready, neededNs: number): number {
  return Math.min(neededNs / unitNs, toleranceNs / unitNs + 1);
}

/**
 * How long until the key is as good as new. The decision says it in whole milliseconds, what remains says it exactly; undefined
 * when nothing remains, because the key may hold more than its burst: it was larger before.
 */
function resetNs({ toleranceNs, unitNs }: Ready, remaining: number, resetAfterMs: number): number | undefined {
  if (remaining > 0) return toleranceNs - remaining * unitNs;
  return resetAfterMs * nanosecondsPerMs <= toleranceNs ? toleranceNs : undefined;
}

function reply(
  into: Writable,
  { maxBurst, intervalNs, toleranceNs }: Ready,
  resetAfterNs: number,
  neededNs: number,
  isAllowed = false,
): ThrottleAnswer {
  // Asking for nothing is allowed by a bucket; redis-cell refuses it while the key is over a burst that became smaller.
  const isLimited = neededNs === 0 ? resetAfterNs > toleranceNs : !isAllowed;
  const isNever = neededNs > toleranceNs;
  into.limited = isLimited ? 1 : 0;
  into.limit = maxBurst + 1;
  into.remaining = remainingOf(toleranceNs - resetAfterNs, intervalNs);
  into.retryAfterSeconds = isLimited && !isNever ? inSeconds(resetAfterNs + neededNs - toleranceNs) : -1;
  into.resetAfterSeconds = inSeconds(resetAfterNs);
  into.isStoreFailure = false;
  return into;
}

/** Whether a decision says how full the bucket is. What was decided without the store, or for another reason, does not. */
function isOfBucket({ degraded, reason }: Decision): boolean {
  return (degraded === undefined || degraded === 'local') && (reason === undefined || reason === 'limit');
}

/** Allowed or not, and when to ask again; what remains is not known. */
function plainReply(into: Writable, { maxBurst }: Ready, { allowed, retryAfterMs, reason }: Decision): ThrottleAnswer {
  const isNever = retryAfterMs === Number.POSITIVE_INFINITY;
  into.limited = allowed ? 0 : 1;
  into.limit = maxBurst + 1;
  into.remaining = 0;
  into.retryAfterSeconds = allowed || isNever ? -1 : Math.ceil(retryAfterMs / 1000);
  into.resetAfterSeconds = Math.max(0, into.retryAfterSeconds);
  into.isStoreFailure = reason === 'store-failure' || reason === 'store-full';
  return into;
}

/** redis-cell counts in microseconds here; an interval shorter than that is counted as it is. */
function remainingOf(leftNs: number, intervalNs: number): number {
  if (leftNs <= 0) return 0;
  if (intervalNs < 1000) return Math.floor(leftNs / intervalNs);
  return Math.floor(Math.floor(leftNs / 1000) / Math.floor(intervalNs / 1000));
}

/** Whole seconds: truncated, and one more when there are whole milliseconds beyond. */
function inSeconds(ns: number): number {
  return Math.ceil(Math.floor(ns / nanosecondsPerMs) / 1000);
}

type Writable = { -readonly [Field in keyof ThrottleAnswer]: ThrottleAnswer[Field] };

function blank(): Writable {
  return { limited: 0, limit: 0, remaining: 0, retryAfterSeconds: 0, resetAfterSeconds: 0, isStoreFailure: false };
}

/** The key's text; undefined where it is no UTF-8. */
function textOf(bytes: Uint8Array, start: number, end: number): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  return isUtf8(text) ? text.toString() : undefined;
}

function mustBeText(bytes: Uint8Array, start: number, end: number): string {
  const text = textOf(bytes, start, end);
  if (text === undefined) throw new ThrottleError('A negative quantity needs a key that is UTF-8');
  return text;
}
