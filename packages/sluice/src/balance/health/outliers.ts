/**
 * Who fails while the others do not. It looks at the calls that are made anyway, and says who should be out, and for how long.
 *
 *      fails so often in a row            ─┐
 *      fails more of its calls, in the     ├─► out, for `ejectFor` times how often it has been out of late
 *      window, than the others do of theirs┘
 */
import type { PickOutcome } from '../balancer.ts';
import type { OutlierSettings } from './settings.ts';
import { Tally } from './tally.ts';

/** What is known of one member. */
export interface Conduct {
  consecutiveFailures: number;
  readonly tally: Tally | undefined;
  /** How often it was out; one less for each `ejectFor` that it has been in since. */
  ejections: number;
  isEjected: boolean;
  returnedMs: number;
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
    return { consecutiveFailures: 0, tally: this.newTally(), ejections: 0, isEjected: false, returnedMs: 0 };
  }

  /** A call has ended. Whether its member should be out now, `members` being how many there are. */
  heard(conduct: Conduct, outcome: PickOutcome, members: number, nowMs: number): boolean {
    // What was under way when it went out says nothing that is not known.
    if (outcome === 'ignored' || conduct.isEjected) return false;
    const hasFailed = outcome === 'failed';
    conduct.consecutiveFailures = hasFailed ? conduct.consecutiveFailures + 1 : 0;
    conduct.tally?.add(hasFailed, nowMs);
    this.all?.add(hasFailed, nowMs);
    if (!hasFailed || this.ejected + 1 > this.settings.ejectedShareMax * members) return false;
    return conduct.consecutiveFailures >= this.settings.consecutiveFailures || this.isWorse(conduct, nowMs);
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
    conduct.consecutiveFailures = 0;
    conduct.returnedMs = nowMs;
    conduct.tally?.clear();
  }

  /** It has left for good. */
  forget(conduct: Conduct, nowMs: number): void {
    if (conduct.tally) this.all?.subtract(conduct.tally, nowMs);
    if (conduct.isEjected) this.ejected -= 1;
    conduct.isEjected = false;
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
