/**
 * Waiting in line: one line per key, first come first served. Only the head of a line asks the limiter; when refused it
 * sleeps for exactly `retryAfterMs` and asks again. Whoever leaves the line, for whatever reason, calls up the next.
 */
import type { Clock } from '../vocabulary/clock.ts';
import type { Decision, Reason } from '../vocabulary/decision.ts';
import { aboveZero, zeroOrMore } from '../vocabulary/policy.ts';
import type { AnyCall } from './call.ts';

export interface WaitOptions {
  /** Default 1. */
  readonly cost?: number;
  /** Resolve with a refusal rather than wait longer than this. Default: as long as it takes. */
  readonly maxWaitMs?: number;
  /** Leaves the line and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export function waiting(call: AnyCall, clock: Clock, maxWaiters: number) {
  aboveZero('maxWaiters', maxWaiters);
  /** Per key, the end of its line: resolves when everybody in it has left. */
  const lines = new Map<string, Promise<unknown>>();
  let waiters = 0;

  return async function wait(key: string, options: WaitOptions = {}): Promise<Decision> {
    const { signal, cost = 1, maxWaitMs = Number.POSITIVE_INFINITY } = options;
    const endMs = clock.now() + zeroOrMore('maxWaitMs', maxWaitMs, Number.POSITIVE_INFINITY);
    signal?.throwIfAborted();
    const refused = async (reason: Reason) => ({ ...(await call('peek', key, cost)), allowed: false, reason });
    if (waiters >= maxWaiters) return refused('too-many-waiters');

    const ahead = lines.get(key);
    let leave = () => {};
    const gone = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Whoever gives up in the middle of the line does not let the next past those still ahead.
    const end = Promise.all([ahead, gone]);
    lines.set(key, end);
    waiters += 1;
    let decision: Decision;
    try {
      if (ahead && !(await inTime(clock, ahead, maxWaitMs, signal))) return await refused('max-wait');
      for (;;) {
        signal?.throwIfAborted();
        const maxDelayMs = Math.max(0, endMs - clock.now());
        decision = await call('reserve', key, cost, { maxDelayMs });
        if (decision.allowed || decision.retryAfterMs === Number.POSITIVE_INFINITY) break;
        if (decision.retryAfterMs > maxDelayMs) return { ...decision, reason: 'max-wait' };
        await clock.sleep(decision.retryAfterMs, signal);
      }
    } finally {
      waiters -= 1;
      leave();
      if (lines.get(key) === end) lines.delete(key);
    }
    // Its turn is taken; the next in line need not wait for its delay to be over.
    try {
      await clock.sleep(decision.delayMs, signal);
    } catch (aborted) {
      await call('settle', key, cost, { actual: 0, receipt: decision.receipt ?? [] });
      throw aborted;
    }
    return decision;
  };
}

/** Whether the promise came before the time was up; rejects when the signal is aborted first. */
async function inTime(clock: Clock, promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const onAbort = () => over.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const alarm = clock.sleep(ms, over.signal).then(() => false);
  try {
    return await Promise.race([promise.then(() => true), alarm]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    over.abort();
    // Nobody listens to the alarm any more; that it ends in this abort is what is wanted.
    alarm.catch(() => {});
  }
}
