import { LatencyHistogram } from './latency-histogram.ts';
import type { LoadReport } from './load-order.ts';

/** What a loop counts while it runs. */
export class Tally {
  answered = 0;
  private errors = 0;
  private firstError: string | undefined;
  private readonly latency = new LatencyHistogram();
  private readonly lateness = new LatencyHistogram();

  /** `latencyMs` counts from when the request was due. An answer that is an error has no latency worth the name. */
  answer(latencyMs: number, problem: string | undefined): void {
    this.answered += 1;
    if (problem === undefined) this.latency.record(latencyMs);
    else this.error(problem);
  }

  sent(lateMs: number): void {
    this.lateness.record(lateMs);
  }

  /** The others were sent, or should have been, and nothing came back. */
  report(requests: number, elapsedMs: number): LoadReport {
    const unanswered = requests - this.answered;
    if (unanswered > 0) this.error(`${unanswered} requests were not answered`, unanswered);
    return {
      requests,
      answered: this.answered,
      errors: this.errors,
      firstError: this.firstError,
      elapsedMs,
      perSecond: (1000 * this.latency.count) / elapsedMs,
      meanMs: this.latency.meanMs,
      p50Ms: this.latency.percentileMs(0.5),
      p99Ms: this.latency.percentileMs(0.99),
      p999Ms: this.latency.percentileMs(0.999),
      maxMs: this.latency.maxMs,
      sentLateP99Ms: this.lateness.percentileMs(0.99),
    };
  }

  private error(problem: string, count = 1): void {
    this.errors += count;
    this.firstError ??= problem;
  }
}
