/**
 * Waiting in line: one line per key, first come first served. Only the head of a line asks the limiter; when refused it
 * sleeps for exactly `retryAfterMs` and asks again. Whoever leaves the line, for whatever reason, calls up the next.
 */
import type { Clock } from '../vocabulary/clock.ts';
import type { Decision, Reason } from '../vocabulary/decision.ts';
import { invalid } from '../vocabulary/errors.ts';
import { aboveZero, knownFields, zeroOrMore } from '../vocabulary/policy.ts';
import type { AnyCall } from './call.ts';

export interface WaitOptions {
  /** Default 1. */
  readonly cost?: number;
  /** Resolve with a refusal rather than wait longer than this. Default: as long as it takes. */
  readonly maxWaitMs?: number;
  /** Leaves the line and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface Waiting {
  wait(key: string, options?: WaitOptions): Promise<Decision>;
  /** Makes whoever is at the head of the key's line (or of every line) ask again: there may be more room than it was told. */
  nudge(key?: string): void;
}

export function waiting(call: AnyCall, clock: Clock, maxWaiters: number): Waiting {
  aboveZero('maxWaiters', maxWaiters);
  /** Per key, the end of its line: resolves when everybody in it has left. */
  const lines = new Map<string, Promise<unknown>>();
  /** Per key, what wakes the head of its line. */
  const heads = new Map<string, () => void>();
  let waiters = 0;

  /** Asks until the call may go, or waiting cannot help. */
  async function ask(key: string, cost: number, endMs: number, signal: AbortSignal): Promise<Decision> {
    for (;;) {
      signal.throwIfAborted();
      // Before it is asked: the answer takes a while, and room that is made meanwhile may be none that it knows of.
      const nudged = new Promise<void>((resolve) => heads.set(key, resolve));
      const maxDelayMs = Math.max(0, endMs - clock.now());
      const decision = await call('reserve', key, cost, { maxDelayMs });
      const { allowed, retryAfterMs } = decision;
      if (allowed || retryAfterMs === Number.POSITIVE_INFINITY) return decision;
      if (retryAfterMs > maxDelayMs) return { ...decision, reason: 'max-wait' };
      await inTime(clock, nudged, retryAfterMs, signal);
    }
  }

  /** Takes the call's turn in the line of its key. */
  async function takeTurn(key: string, cost: number, maxWaitMs: number, signal: AbortSignal): Promise<Decision> {
    const endMs = clock.now() + maxWaitMs;
    const refused = async (reason: Reason): Promise<Decision> => {
      const decision = await call('peek', key, cost);
      // What is refused is not sent ahead: the delay that the peek tells of would be waited out.
      return { ...decision, allowed: false, retryAfterMs: Math.max(1, decision.retryAfterMs), delayMs: 0, reason };
    };
    if (waiters > maxWaiters) return refused('too-many-waiters');
    const ahead = lines.get(key);
    let leave = () => {};
    const gone = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Whoever gives up in the middle of the line does not let the next past those still ahead.
    const end = ahead ? ahead.then(() => gone) : gone;
    lines.set(key, end);
    try {
      if (ahead && !(await inTime(clock, ahead, maxWaitMs, signal))) return await refused('max-wait');
      return await ask(key, cost, endMs, signal);
    } finally {
      leave();
      // Not before those ahead have left too: they may still wait to be woken.
      void end.then(() => {
        if (lines.get(key) !== end) return;
        lines.delete(key);
        heads.delete(key);
      });
    }
  }

  return {
    async wait(key, options) {
      knownFields('wait options', options ?? {}, 'cost maxWaitMs signal');
      const { signal, cost = 1, maxWaitMs = Number.POSITIVE_INFINITY } = options ?? {};
      zeroOrMore('maxWaitMs', maxWaitMs, Number.POSITIVE_INFINITY);
      if (signal && typeof signal.throwIfAborted !== 'function') throw invalid('signal', 'an AbortSignal', signal);
      signal?.throwIfAborted();
      const own = follow(signal);
      waiters += 1;
      try {
        const decision = await takeTurn(key, cost, maxWaitMs, own.signal);
        try {
          // Its turn is taken; the next in line need not wait for its delay to be over.
          await clock.sleep(decision.delayMs, own.signal);
        } catch (aborted) {
          await call('settle', key, cost, { actual: 0, receipt: decision.receipt });
          throw aborted;
        }
        return decision;
      } finally {
        waiters -= 1;
        own.stop();
      }
    },
    nudge(key) {
      for (const [other, wake] of heads) if (key === undefined || key === other) wake();
    },
  };
}

// A signal shared by many is listened to once: many listeners look like a leak, and Node warns of it.
const followers = new WeakMap<AbortSignal, Set<AbortController>>();

/** A signal of one's own that is aborted with another, or when it is stopped. */
function follow(signal: AbortSignal | undefined): { readonly signal: AbortSignal; stop(): void } {
  const own = new AbortController();
  const all = signal && followersOf(signal);
  all?.add(own);
  const stop = () => {
    all?.delete(own);
    own.abort();
  };
  return { signal: own.signal, stop };
}

function followersOf(signal: AbortSignal): Set<AbortController> {
  const known = followers.get(signal);
  if (known) return known;
  const all = new Set<AbortController>();
  const abortAll = () => {
    for (const each of [...all]) each.abort(signal.reason);
  };
  signal.addEventListener('abort', abortAll, { once: true });
  followers.set(signal, all);
  return all;
}

/** Whether the promise came before the time was up; rejects when the signal is aborted first. */
async function inTime(clock: Clock, promise: Promise<unknown>, ms: number, signal: AbortSignal): Promise<boolean> {
  const over = follow(signal);
  const alarm = clock.sleep(ms, over.signal).then(() => false);
  try {
    return await Promise.race([promise.then(() => true), alarm]);
  } finally {
    over.stop();
    // Nobody listens to the alarm any more; that it ends in this abort is what is wanted.
    alarm.catch(() => {});
  }
}
