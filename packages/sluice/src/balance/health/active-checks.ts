/**
 * Asks members whether they are well, each again and again, and says what the answers come to.
 *
 *      ├── check ──┤                 ├── check ──┤                   one at a time for each member, `interval` from beginning to
 *      │◄────────── interval ───────►│                               beginning less some of it by chance; at most `atOnce` in all,
 *                                                                    the others wait in line
 */
import { type InLine, Line } from '../../protect/line.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Member } from '../balancer.ts';
import type { Agenda, Appointment } from './agenda.ts';
import type { CheckSettings } from './settings.ts';

/** The checks of one member. */
export interface Checked {
  /** In a row, whichever of the two is above 0. */
  passes: number;
  failures: number;
  /** So many passes are enough to be well: one where none has been made yet. */
  passesWanted: number;
  appointment: Appointment | undefined;
  place: InLine<() => void> | undefined;
  /** Ends the check that is under way, if one is. */
  stop: (() => void) | undefined;
  isOver: boolean;
}

export interface CheckResult {
  readonly hasPassed: boolean;
  readonly durationMs: number;
  /** What the probe threw, or that it took too long. */
  readonly error?: unknown;
}

export interface CheckedMember<M extends Member> {
  readonly member: () => M;
  readonly told: (result: CheckResult) => void;
  /** It is well, or it is not; said each time a check leaves no doubt. */
  readonly judged: (isWell: boolean) => void;
}

export class ActiveChecks<M extends Member> {
  private readonly settings: CheckSettings<M>;
  private readonly agenda: Agenda;
  private readonly random: () => number;
  private readonly line = new Line<() => void>();
  private underWay = 0;
  private isClosed = false;

  constructor(settings: CheckSettings<M>, agenda: Agenda, random: () => number) {
    this.settings = settings;
    this.agenda = agenda;
    this.random = random;
  }

  /** Checks it from now on: at once where it is waited for, else at some moment of the first interval. */
  begin(of: CheckedMember<M>): Checked {
    const { isFirstAwaited, healthyAfter, intervalMs } = this.settings;
    const checked: Checked = {
      passes: 0,
      failures: 0,
      passesWanted: isFirstAwaited ? 1 : healthyAfter,
      appointment: undefined,
      place: undefined,
      stop: undefined,
      isOver: false,
    };
    if (isFirstAwaited) this.check(checked, of);
    else checked.appointment = this.agenda.after(intervalMs * this.random(), () => this.check(checked, of));
    return checked;
  }

  end(checked: Checked): void {
    checked.isOver = true;
    this.agenda.cancel(checked.appointment);
    if (checked.place) this.line.remove(checked.place);
    checked.stop?.();
  }

  /** Whoever waits in line is not checked any more. */
  close(): void {
    this.isClosed = true;
  }

  private check(checked: Checked, of: CheckedMember<M>): void {
    if (this.underWay < this.settings.atOnce) this.start(checked, of);
    else
      checked.place = this.line.add(() => {
        checked.place = undefined;
        this.start(checked, of);
      });
  }

  private start(checked: Checked, of: CheckedMember<M>): void {
    const { timeoutMs } = this.settings;
    const startedMs = this.agenda.now();
    const ofProbe = new AbortController();
    this.underWay += 1;

    const end = (hasPassed: boolean, error: unknown) => {
      if (checked.stop !== stop) return;
      checked.stop = undefined;
      this.agenda.cancel(alarm);
      this.underWay -= 1;
      this.startNext();
      if (checked.isOver) return;
      const nowMs = this.agenda.now();
      this.again(checked, of, nowMs - startedMs);
      const durationMs = Math.max(0, nowMs - startedMs);
      of.told(error === undefined ? { hasPassed, durationMs } : { hasPassed, durationMs, error });
      this.judge(checked, hasPassed, of);
    };
    const giveUp = (error: unknown) => {
      end(false, error);
      ofProbe.abort(error);
    };
    const stop = () => giveUp(new SluiceError('timed-out', 'The check is no longer needed.'));
    checked.stop = stop;
    const alarm = this.agenda.after(timeoutMs, () =>
      giveUp(new SluiceError('timed-out', `The check did not end within ${timeoutMs} ms.`)),
    );
    void this.ask(of.member(), ofProbe.signal).then(
      (answer) => this.agenda.attempt(() => end(answer === true, undefined)),
      (error) => this.agenda.attempt(() => end(false, error ?? new Error('The probe failed without a reason.'))),
    );
  }

  private async ask(member: M, signal: AbortSignal): Promise<boolean> {
    return await this.settings.probe(member, signal);
  }

  private startNext(): void {
    const { first } = this.line;
    if (first === undefined || this.isClosed) return;
    this.line.remove(first);
    first.value();
  }

  private again(checked: Checked, of: CheckedMember<M>, tookMs: number): void {
    const { intervalMs, jitter } = this.settings;
    const everyMs = intervalMs * (1 - jitter * this.random());
    checked.appointment = this.agenda.after(everyMs - tookMs, () => this.check(checked, of));
  }

  private judge(checked: Checked, hasPassed: boolean, of: CheckedMember<M>): void {
    const { unhealthyAfter, healthyAfter } = this.settings;
    checked.passes = hasPassed ? checked.passes + 1 : 0;
    checked.failures = hasPassed ? 0 : checked.failures + 1;
    if (hasPassed && checked.passes >= checked.passesWanted) {
      checked.passesWanted = healthyAfter;
      of.judged(true);
    } else if (checked.failures >= unhealthyAfter) of.judged(false);
  }
}
