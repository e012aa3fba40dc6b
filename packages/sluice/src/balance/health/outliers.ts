/**
 * Who fails while the others do not. It looks at the calls that are made anyway, and says who should be out, and for how long.
 *
 *      fails so often in a row            ─┐
 *      fails more of its calls, in the     ├─► out, for `ejectFor` times how often it has been out of late
 *      window, than the others do of theirs┘
 */
import { type InLine, Line } from '../../protect/line.ts';
import type { PickOutcome } from '../balancer.ts';
import type { OutlierSettings } from './settings.ts';
import { Tally } from './tally.ts';

/** What is known of one member. */
export interface Conduct {
  /** Calls that were heard of, numbered from 1 in the order in which they were. */
  calls: number;
  /** The latest that went well; 0: none. */
  lastOk: number;
  /** Those that are answered well, and not over: each may fail after all, and then has failed in its place. */
  readonly answered: Line<number>;
  readonly tally: Tally | undefined;
  /** How often it was out; one less for each `ejectFor` that it has been in since. */
  ejections: number;
  isEjected: boolean;
  returnedMs: number;
}

/** What outlives the detection that found it out, in times from now. */
export interface PastConduct {
  readonly consecutiveFailures: number;
  readonly ejections: number;
  /** How long it has been in since it was last out. */
  readonly inForMs: number;
}

export class Outliers {
  /** How many are out now. */
  ejected = 0;
  private readonly settings: OutlierSettings;
  private readonly all: Tally | undefined;

  constructor(settings: OutlierSettings) {
    this.settings = settings;
    this.all = this.newTally();
  }

  newConduct(): Conduct {
    return {
      calls: 0,
      lastOk: 0,
      answered: new Line(),
      tally: this.newTally(),
      ejections: 0,
      isEjected: false,
      returnedMs: 0,
    };
  }

  /** A call has ended. Whether its member fails as only an outlier does. */
  heard(conduct: Conduct, outcome: PickOutcome, nowMs: number): boolean {
    // What was under way when it went out says nothing that is not known.
    if (outcome === 'ignored' || conduct.isEjected) return false;
    conduct.calls += 1;
    if (outcome === 'ok') conduct.lastOk = conduct.calls;
    return this.count(conduct, outcome === 'failed', nowMs);
  }

  /** A call goes well so far. What is returned is for `over`. */
  heardWell(conduct: Conduct, nowMs: number): InLine<number> | undefined {
    if (conduct.isEjected) return undefined;
    conduct.calls += 1;
    this.count(conduct, false, nowMs);
    return conduct.answered.add(conduct.calls);
  }

  /**
   * A call that went well is over. One that has failed after all did so in its place: a member that begins every answer and ends none fails in a
   * row, and one of which a stream breaks now and then, while others begin, does not.
   */
  over(conduct: Conduct, place: InLine<number>, hasFailed: boolean, nowMs: number): boolean {
    conduct.answered.remove(place);
    if (!hasFailed) conduct.lastOk = Math.max(conduct.lastOk, place.value);
    return hasFailed && !conduct.isEjected && this.count(conduct, true, nowMs);
  }

  /**
   * Whether so many `more` may be out, `others` being how many could still be picked then. Who is out for another reason is no member in
   * this: else a member that fails a few calls would be out as one of many, though it is the last that answers.
   */
  mayEject(others: number, more = 1): boolean {
    const ejected = this.ejected + more;
    return others > 0 && ejected <= this.settings.ejectedShareMax * (ejected + others);
  }

  /** Goes on with what was known of it. */
  resume(conduct: Conduct, past: PastConduct, nowMs: number): void {
    conduct.lastOk = conduct.calls;
    conduct.calls += past.consecutiveFailures;
    conduct.ejections = past.ejections;
    conduct.returnedMs = nowMs - past.inForMs;
  }

  /** It was out when that was said, and stays out. For how long? */
  resumeEjection(conduct: Conduct, leftMs: number): number {
    conduct.isEjected = true;
    this.ejected += 1;
    return Math.min(this.settings.ejectForMsMax, leftMs);
  }

  /** It is out from now on. For how long? */
  eject(conduct: Conduct, nowMs: number): number {
    const { ejectForMs, ejectForMsMax } = this.settings;
    const forgiven = Math.floor((nowMs - conduct.returnedMs) / ejectForMs);
    conduct.ejections = Math.max(0, conduct.ejections - forgiven) + 1;
    conduct.isEjected = true;
    this.ejected += 1;
    return Math.min(ejectForMsMax, ejectForMs * conduct.ejections);
  }

  /** It is in again, and begins anew; what it did before is not held against it, nor for the others. */
  readmit(conduct: Conduct, nowMs: number): void {
    this.forget(conduct, nowMs);
    conduct.lastOk = conduct.calls;
    conduct.returnedMs = nowMs;
    conduct.tally?.clear();
  }

  /** It has left for good. */
  forget(conduct: Conduct, nowMs: number): void {
    if (conduct.tally) this.all?.subtract(conduct.tally, nowMs);
    if (conduct.isEjected) this.ejected -= 1;
    conduct.isEjected = false;
  }

  private count(conduct: Conduct, hasFailed: boolean, nowMs: number): boolean {
    conduct.tally?.add(hasFailed, nowMs);
    this.all?.add(hasFailed, nowMs);
    if (!hasFailed) return false;
    return consecutiveFailures(conduct) >= this.settings.consecutiveFailures || this.isWorse(conduct, nowMs);
  }

  private isWorse({ tally: own }: Conduct, nowMs: number): boolean {
    const { all, settings } = this;
    if (!own || !all) return false;
    own.advance(nowMs);
    all.advance(nowMs);
    const others = all.calls - own.calls;
    if (own.calls < settings.minCalls || others < settings.minCalls) return false;
    const othersRatio = (all.failures - own.failures) / others;
    return own.failures / own.calls - othersRatio >= settings.failureRatio!;
  }

  private newTally(): Tally | undefined {
    return this.settings.failureRatio === undefined ? undefined : new Tally(this.settings.windowMs);
  }
}

/** Up to the latest call. */
export function consecutiveFailures({ calls, lastOk, answered }: Conduct): number {
  return calls - Math.max(lastOk, answered.last?.value ?? 0);
}
