/** The time of a generator, and its rests. */
export interface Pace {
  nowMs(): number;
  /** Lets others work, until this time at the latest. */
  rest(untilMs: number): Promise<void>;
}

// What a timer may be late by; nearer times are waited for in naps.
const timerSlackMs = 2;
/** How often it is looked whether something is due or answered. */
const lookEveryMs = 0.2;

/**
 * A timer may be late by a millisecond, so near times are waited for in naps, in which the whole thread stands still. Not by looking at the clock all the
 * time: what looks like two cores may be the two threads of one, and a generator that is never at rest then takes a third of the service's speed away.
 * What comes in a nap is sent and read after it, and that counts as latency.
 */
export function nappingPace(nowMs: () => number, nap: (ms: number) => void): Pace {
  let lookedMs = Number.NEGATIVE_INFINITY;
  return {
    nowMs,
    rest(untilMs) {
      const leftMs = untilMs - nowMs();
      if (leftMs > timerSlackMs) {
        return new Promise((resolve) => setTimeout(resolve, Math.floor(leftMs - timerSlackMs + 1)));
      }
      // From look to look: after a turn that took longer there is no time to spare.
      const napMs = lookedMs + lookEveryMs - nowMs();
      if (napMs > 0) nap(napMs);
      lookedMs = nowMs();
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const neverWoken = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** The machine's. */
export const machinePace: Pace = nappingPace(
  () => performance.now(),
  (ms) => {
    Atomics.wait(neverWoken, 0, 0, ms);
  },
);
