/**
 * How many: a limit that follows what is measured. An algorithm is a pure step from a few numbers to the next; it knows no
 * clock, no calls and no line. Who may go is another question, and the gate's.
 */

/** What a window of calls had to say. */
export interface Sample {
  /** What a call took, on average. Means nothing in a sample that was dropped. */
  readonly rttMs: number;
  /** The most that were under way. */
  readonly inFlight: number;
  /** The service is overloaded: it said so, or did not answer in time. */
  readonly isDropped: boolean;
}

export interface LimitAlgorithm<State> {
  readonly initial: State;
  step(state: State, sample: Sample): State;
  /** How many calls may be under way: a whole number within the range. */
  limitOf(state: State): number;
  /** What a call takes when none has to wait, as far as it is known. */
  baselineMsOf(state: State): number | undefined;
}

export interface LimitRange {
  readonly limitInitial: number;
  readonly limitMin: number;
  readonly limitMax: number;
}

export function bounded(limit: number, { limitMin, limitMax }: LimitRange): number {
  return Math.max(limitMin, Math.min(limitMax, limit));
}

/** Whether fewer calls than half the limit were under way: then it is not the limit that is seen at work, and it must not grow. */
export function isIdle(limit: number, { inFlight }: Sample): boolean {
  return inFlight * 2 < limit;
}
