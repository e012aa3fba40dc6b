/** How calls ended, and how long that took from their arrival. */
import type { Call } from '../calls.ts';
import { Samples } from '../samples.ts';
import type { Counter, Slices } from '../slices.ts';
import type { Findings, Measures } from '../vocabulary.ts';

class Tally {
  readonly responseMs = new Samples();
  begun = 0;
  failed = 0;
  /** Given up by a stage before, which counts them itself. */
  given = 0;

  put(measures: Measures, durationMs: number, of?: string): void {
    const { responseMs, begun, failed, given } = this;
    measures.put('completed', responseMs.count, of);
    measures.put('failed', failed, of);
    measures.put('unfinished', begun - responseMs.count - failed - given, of);
    measures.put('goodput', (responseMs.count * 1000) / durationMs, of);
    measures.put('responseMsMean', responseMs.mean, of);
    measures.put('responseMsP99', responseMs.p99, of);
    measures.put('responseMsMax', responseMs.max, of);
  }
}

export type End = 'ok' | 'failed' | 'given-up';

export class Ends {
  private readonly all = new Tally();
  private readonly byGroup: readonly Tally[];
  private readonly groups: readonly string[];
  private readonly durationMs: number;
  private readonly completed: Counter;
  private readonly failed: Counter;
  /** Where the limits do not count them. */
  private readonly arrived: Counter | undefined;

  constructor(slices: Slices, groups: readonly string[], durationMs: number, isFirst: boolean) {
    this.groups = groups;
    this.durationMs = durationMs;
    this.byGroup = groups.map(() => new Tally());
    this.arrived = isFirst ? slices.counter('arrived', 'arrived') : undefined;
    this.completed = slices.counter('completed', 'allowed');
    this.failed = slices.counter('failed', 'refused');
  }

  begin({ atMs, group }: Call): void {
    this.arrived?.add(atMs);
    this.all.begun += 1;
    if (group >= 0) this.byGroup[group]!.begun += 1;
  }

  end(call: Call, how: End, nowMs: number): void {
    this.count(this.all, call, how, nowMs);
    if (call.group >= 0) this.count(this.byGroup[call.group]!, call, how, nowMs);
    if (how === 'ok') this.completed.add(nowMs);
    if (how === 'failed') this.failed.add(nowMs);
  }

  private count(tally: Tally, { atMs }: Call, how: End, nowMs: number): void {
    if (how === 'ok') tally.responseMs.add(nowMs - atMs);
    else if (how === 'failed') tally.failed += 1;
    else tally.given += 1;
  }

  report({ measures }: Findings): void {
    if (this.arrived) measures.put('asked', this.all.begun);
    this.all.put(measures, this.durationMs);
    for (const [i, group] of this.groups.entries()) this.byGroup[i]!.put(measures, this.durationMs, group);
  }
}
