/**
 * How far a log is from being in order, for the report; the order itself is made in `entries.ts`.
 *
 * A log is written when requests end, so lines come a little late. When many lines in a row come much too late, time itself went back: files were
 * given in the wrong order, or the clock was set back. From then on lines are late only against the new time.
 */
const linesOfAStep = 20;

export class LinesOrder {
  stepsBack = 0;
  stepBackMsMax = 0;
  firstMs = Number.POSITIVE_INFINITY;
  #lateLines = 0;
  #lateMsMax = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #latestMs = Number.NEGATIVE_INFINITY;
  // The lines in a row that came too late, which are either late or the beginning of a step.
  #runLines = 0;
  #runLatestMs = Number.NEGATIVE_INFINITY;
  #runLateMsMax = 0;
  readonly #disorderMs: number;

  constructor(disorderMs: number) {
    this.#disorderMs = disorderMs;
  }

  take(atMs: number): void {
    if (atMs >= this.#latestMs && this.#runLines === 0) {
      // The first line too: nothing is earlier than the earliest unless it is late.
      if (this.#latestMs === Number.NEGATIVE_INFINITY) this.firstMs = atMs;
      this.#latestMs = atMs;
      return;
    }
    this.#takeOther(atMs);
  }

  get lastMs(): number {
    return Math.max(this.#lastMs, this.#latestMs);
  }

  get lateLines(): number {
    return this.#lateLines + this.#runLines;
  }

  get lateMsMax(): number {
    return Math.max(this.#lateMsMax, this.#runLateMsMax);
  }

  #takeOther(atMs: number): void {
    this.firstMs = Math.min(this.firstMs, atMs);
    const lateMs = this.#latestMs - atMs;
    if (lateMs <= this.#disorderMs) {
      // A run that did not become a step was lines that came late.
      this.#lateLines = this.lateLines + (lateMs > 0 ? 1 : 0);
      this.#lateMsMax = Math.max(this.lateMsMax, lateMs);
      this.#latestMs = Math.max(this.#latestMs, atMs);
      this.#endRun();
      return;
    }
    this.#runLines += 1;
    this.#runLatestMs = Math.max(this.#runLatestMs, atMs);
    this.#runLateMsMax = Math.max(this.#runLateMsMax, lateMs);
    if (this.#runLines === linesOfAStep) this.#step();
  }

  #step(): void {
    this.stepsBack += 1;
    this.stepBackMsMax = Math.max(this.stepBackMsMax, this.#runLateMsMax);
    this.#lastMs = this.lastMs;
    this.#latestMs = this.#runLatestMs;
    this.#endRun();
  }

  #endRun(): void {
    this.#runLines = 0;
    this.#runLatestMs = Number.NEGATIVE_INFINITY;
    this.#runLateMsMax = 0;
  }
}
