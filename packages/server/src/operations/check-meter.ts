/**
 * How often each rule said what, and how long checks took. Plain numbers in flat arrays, so that counting costs a few
 * nanoseconds; they become metrics only when somebody scrapes (`metrics.ts`).
 *
 *      counts      rule 0: allowed refused shadow-refused error │ rule 1: ...
 *      durations   checks by the first bound that they do not exceed │ the rest
 *
 * Each thread has a meter of its own. `read()` gives plain data, `add()` takes another thread's.
 */

export const outcomes = ['allowed', 'refused', 'shadow-refused', 'error'] as const;
export type Outcome = (typeof outcomes)[number];

/**
 * What is counted beside the configured rules: CL.THROTTLE, policies that came with the request, Envoy's descriptors, and what the
 * deny-list refuses before any rule is asked. Policies of requests share one name, because callers invent them; the same holds for any name that nobody configured.
 */
export const namesBesideRules = ['cl.throttle', 'ad-hoc', 'envoy', 'deny-list'] as const;

/** From a check in memory to one that waits for a slow Redis; milliseconds. */
export const durationBoundsMs = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000,
] as const;

export interface CheckMeterData {
  readonly names: readonly string[];
  /** One for each name and outcome. */
  readonly counts: readonly number[];
  /** One for each bound, and one for what is longer. */
  readonly durations: readonly number[];
  readonly durationMsSum: number;
}

export class CheckMeter {
  #names: readonly string[] = [];
  #placeOf = new Map<string, number>();
  #counts = new Float64Array();
  // The rule counted last: mostly it is the one counted next.
  #lastRule: string | undefined;
  #lastPlace = 0;
  #durations = new Float64Array(durationBoundsMs.length + 1);
  #durationMsSum = 0;

  constructor(rules: readonly string[] = []) {
    this.setRules(rules);
  }

  /** After a reload. Rules that stay keep their counts; those that are gone take theirs with them. */
  setRules(rules: readonly string[]): void {
    const before = this.read();
    this.#names = [...new Set([...rules, ...namesBesideRules])];
    this.#placeOf = new Map(this.#names.map((name, i) => [name, i]));
    this.#lastRule = undefined;
    this.#counts = new Float64Array(this.#names.length * outcomes.length);
    this.#addCounts(before.names, before.counts);
  }

  count(rule: string, outcome: Outcome, durationMs?: number): void {
    if (rule !== this.#lastRule) {
      this.#lastPlace = this.#placeOf.get(rule) ?? this.#placeOf.get('ad-hoc')!;
      this.#lastRule = rule;
    }
    this.#counts[this.#lastPlace * outcomes.length + offsetOf(outcome)]! += 1;
    if (durationMs !== undefined) this.observe(durationMs);
  }

  /** A check took so long; `times` where one measurement stands for several checks (a pipeline, a sample). */
  observe(durationMs: number, times = 1): void {
    let place = 0;
    while (place < durationBoundsMs.length && durationMs > durationBoundsMs[place]!) place += 1;
    this.#durations[place]! += times;
    this.#durationMsSum += durationMs * times;
  }

  read(): CheckMeterData {
    return {
      names: this.#names,
      counts: [...this.#counts],
      durations: [...this.#durations],
      durationMsSum: this.#durationMsSum,
    };
  }

  /** What another meter counted. A rule that this one does not have is left out: it is gone, or not here yet. */
  add(data: CheckMeterData): void {
    this.#addCounts(data.names, data.counts);
    data.durations.forEach((count, i) => {
      this.#durations[i]! += count;
    });
    this.#durationMsSum += data.durationMsSum;
  }

  #addCounts(names: readonly string[], counts: readonly number[]): void {
    names.forEach((name, i) => {
      const place = this.#placeOf.get(name);
      if (place === undefined) return;
      for (let offset = 0; offset < outcomes.length; offset += 1) {
        this.#counts[place * outcomes.length + offset]! += counts[i * outcomes.length + offset]!;
      }
    });
  }
}

function offsetOf(outcome: Outcome): number {
  if (outcome === 'allowed') return 0;
  if (outcome === 'refused') return 1;
  return outcome === 'shadow-refused' ? 2 : 3;
}
