import { invalid } from './errors.ts';

/**
 * The only source of time. Algorithms never see a clock: they take the time as an argument. At the edges one clock both
 * reads and sleeps, so that a test that owns the clock owns all of time.
 */
export interface Clock {
  /** Milliseconds since the epoch; fractions allowed. It should not step back, and Sluice stays safe when it does. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * How old a reading can be, for a clock that is read less often than it is asked. Strict algorithms add it to their
   * window, so that a stale reading makes them refuse longer and never admit more. Default 0.
   */
  readonly stalenessMs?: number;
  /**
   * A reading from earlier in the same turn of the event loop, where that is cheaper; `tickClock` has it. Asked instead of
   * `now` for single checks of policies that are not strict.
   */
  recent?(): number;
}

// Anchored once: an NTP step or a hand-set wall clock afterwards moves nothing, because only the monotonic part advances.
// Cloudflare Workers count from the epoch itself, and have no time yet when modules load.
const originMs = performance.timeOrigin === 0 ? 0 : Date.now() - performance.now();

/** Timers hold the delay in 32 signed bits; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** The default clock: monotonic, anchored to the wall clock once, when the module loads. */
export const monotonicClock: Clock = /* @__PURE__ */ monotonic(true);

/** The same for what runs in the background: nobody waits for it, so its sleeps do not keep the process alive. */
export const backgroundClock: Clock = /* @__PURE__ */ monotonic(false);

function monotonic(isWaitedFor: boolean): Clock {
  return {
    now: () => originMs + performance.now(),
    async sleep(ms, signal) {
      const endMs = performance.now() + ms;
      for (let leftMs = ms; leftMs > 0; leftMs = endMs - performance.now()) {
        await timer(Math.min(leftMs, longestTimerMs), isWaitedFor, signal);
      }
      signal?.throwIfAborted();
    },
  };
}

function timer(ms: number, isWaitedFor: boolean, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(handle);
      reject(signal?.reason);
    };
    const handle = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, Math.ceil(ms));
    // Node, Bun and Deno's Node side have `unref`; a browser's timers keep nothing alive anyway.
    if (!isWaitedFor) (handle as unknown as { unref?: () => void }).unref?.();
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

// The year 5138. Beyond, slots of a window could no longer be told apart by their numbers.
const furthestMs = 1e14;

/** A time, checked: a NaN would compare false with everything and slip through every limit. */
export function checkTime(atMs: number, field?: string): number {
  return typeof atMs === 'number' && atMs <= furthestMs && atMs >= -furthestMs ? atMs : notATime(atMs, field);
}

function notATime(atMs: unknown, field = 'atMs'): never {
  throw invalid(field, `milliseconds since the epoch, at most ${furthestMs}`, atMs);
}

/** Refuses what is no clock. */
export function checkClock(clock: Clock): void {
  if (typeof clock?.now !== 'function' || typeof clock.sleep !== 'function')
    throw invalid('clock', 'an object with now() and sleep()', clock);
  const { stalenessMs = 0 } = clock;
  // A NaN would slip through every comparison, and so through every limit.
  if (!(stalenessMs >= 0 && stalenessMs < Number.POSITIVE_INFINITY))
    throw invalid('clock.stalenessMs', 'a finite number of 0 or more', stalenessMs);
}
