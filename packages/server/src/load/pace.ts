/** The time of a generator, and its rests. */
export interface Pace {
  nowMs(): number;
  /** Lets others work, until this time at the latest. */
  rest(untilMs: number): Promise<void>;
}

// What a timer may be late by; nearer times are waited for by looking.
const timerSlackMs = 2;

/** The machine's. It looks at the clock all the time when the next request is near: sleeping would add a millisecond to each. */
export const machinePace: Pace = {
  nowMs: () => performance.now(),
  rest(untilMs) {
    const leftMs = untilMs - performance.now();
    return new Promise((resolve) => {
      if (leftMs > timerSlackMs) setTimeout(resolve, Math.floor(leftMs - timerSlackMs + 1));
      else setImmediate(resolve);
    });
  },
};
