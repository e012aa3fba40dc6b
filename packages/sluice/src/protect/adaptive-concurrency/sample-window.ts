/**
 * Many calls, one sample. A single call says little (one is slow for reasons of its own), and a limit that moves with each call
 * moves as often in one round trip as there are calls in it, all of them made before the first move. So calls are gathered for
 * about two round trips, and for as long as it takes until there are enough of them; then the limit takes one step.
 */
import type { Sample } from './limit-algorithm.ts';

export interface SampleWindowSettings {
  readonly windowMsMin: number;
  readonly windowMsMax: number;
  readonly minCalls: number;
  /** The share of failures from which on it is overload; 0: one is enough. */
  readonly failureRatio: number;
}

// Below it is the clock and the event loop that are measured, and not the service.
const shortestRttMs = 0.1;

export class SampleWindow {
  private readonly settings: SampleWindowSettings;
  private startedMs: number;
  private lengthMs: number;
  private calls = 0;
  private failures = 0;
  private durationsMs = 0;
  private rttsMs = 0;
  private inFlight = 0;

  constructor(settings: SampleWindowSettings, nowMs: number) {
    this.settings = settings;
    this.startedMs = nowMs;
    this.lengthMs = settings.windowMsMin;
  }

  /** A sample, if this call is the last of its window. */
  add(isFailure: boolean, durationMs: number, inFlight: number, nowMs: number): Sample | undefined {
    this.calls += 1;
    this.durationsMs += durationMs;
    this.inFlight = Math.max(this.inFlight, inFlight);
    if (isFailure) this.failures += 1;
    else this.rttsMs += durationMs;
    if (this.calls < this.settings.minCalls || nowMs - this.startedMs < this.lengthMs) return undefined;
    const sample = this.sample();
    this.startAnew(nowMs);
    return sample;
  }

  private sample(): Sample {
    const { calls, failures, inFlight } = this;
    const isDropped = failures > 0 && failures / calls >= this.settings.failureRatio;
    // Where every call failed there is no time to speak of, and it was dropped.
    const rttMs = failures < calls ? this.rttsMs / (calls - failures) : 0;
    return { rttMs: Math.max(shortestRttMs, rttMs), inFlight, isDropped };
  }

  private startAnew(nowMs: number): void {
    const { windowMsMin, windowMsMax } = this.settings;
    this.lengthMs = Math.max(windowMsMin, Math.min(windowMsMax, (2 * this.durationsMs) / this.calls));
    this.startedMs = nowMs;
    this.calls = 0;
    this.failures = 0;
    this.durationsMs = 0;
    this.rttsMs = 0;
    this.inFlight = 0;
  }
}
