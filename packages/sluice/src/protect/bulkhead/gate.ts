/**
 * So many places, and a line of those who wait for one.
 *
 *      newcomer ──► a place is free? ──► takes it, and gives it back when its call has ended
 *                        │ no                 ▲
 *                        ▼                    │ the first in line has it at once
 *                   the line: first come, first served, and no longer than it may be
 *                        │
 *                        └──► leaves from wherever it stands: aborted, or waited for too long
 *
 * Nobody waits while a place is free, so a newcomer that finds one overtakes nobody. Every step takes the same time however
 * long the line is. All wait equally long, so the first in line is the first whose time is up: one alarm is enough for all.
 *
 * The number of places may change while calls are under way: nobody is thrown out, and whoever may begin then does.
 */
import type { Clock } from '../../vocabulary/clock.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import { ForwardTime } from '../forward-time.ts';
import { type InLine, Line } from '../line.ts';
import type { Listeners } from '../listeners.ts';
import { type Judge, OncePass, runWithPass } from '../passes.ts';
import { mustBeCall, type Outcome, type Pass, type ProtectedCall, type RunOptions } from '../protection.ts';
import { whenAborted } from '../when-aborted.ts';

/** Why a call was not let through. */
export type GateRefusal = 'full' | 'waited-too-long' | 'closed';

export interface GateEvents {
  /** A call was not let through. */
  refused: { readonly reason: GateRefusal };
  /** A call has to wait; so many do now. */
  queued: { readonly waiting: number };
  /** A call has a place, after so long in line; so many are under way now. */
  started: { readonly waitedMs: number; readonly inFlight: number };
  /** A call gave its place back. */
  ended: { readonly outcome: Outcome; readonly durationMs: number };
}

export const gateEvents: readonly (keyof GateEvents)[] = ['refused', 'queued', 'started', 'ended'];

export interface GateStats {
  /** How many calls may be under way. */
  readonly limit: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** Calls not let through since it was made. */
  readonly refused: number;
}

export interface GateSettings {
  /** What it is called in errors, with its name. */
  readonly title: string;
  readonly limit: number;
  readonly queue: number;
  /** `Infinity`: for as long as it takes. */
  readonly queueTimeoutMs: number;
  readonly clock: Clock;
}

/** A call that has ended, as it is measured. */
export interface EndedCall {
  readonly outcome: Outcome;
  readonly durationMs: number;
  /** How many were under way when it began, itself among them. */
  readonly inFlight: number;
  readonly endedMs: number;
  /** False where the clock stepped back meanwhile: then the duration is not to be trusted. */
  readonly isMeasured: boolean;
}

interface Waiter {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly begin: (pass: Pass) => void;
  readonly refuse: (error: unknown) => void;
  forgetSignal: () => void;
}

type Tell = Listeners<GateEvents>['tell'];

export class Gate {
  private readonly settings: GateSettings;
  private readonly tell: Tell;
  private readonly learn: (call: EndedCall) => void;
  private readonly time: ForwardTime;
  private readonly line = new Line<Waiter>();
  private limit: number;
  private inFlight = 0;
  private refused = 0;
  private isClosed = false;
  /** Awake while somebody waits whose time can be up. */
  private alarm: AbortController | undefined;
  private idle: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** `learn` is told of each end before the place is given to the next, and may change the limit. */
  constructor(settings: GateSettings, tell: Tell, learn: (call: EndedCall) => void = () => {}) {
    this.settings = settings;
    this.tell = tell;
    this.learn = learn;
    this.limit = settings.limit;
    this.time = new ForwardTime(settings.clock);
  }

  /** A place at once, or none. */
  tryPass(): Pass | undefined {
    const nowMs = this.time.now();
    const pass = this.take(nowMs);
    if (!pass) this.countRefusal(this.isClosed ? 'closed' : 'full');
    return pass;
  }

  /** A place, now or after waiting in line for it. */
  async waitForPass({ signal }: RunOptions = {}): Promise<Pass> {
    return this.enter(signal);
  }

  async run<T>(call: ProtectedCall<T>, { signal }: RunOptions = {}, judge: Judge): Promise<T> {
    mustBeCall(call);
    const entered = this.enter(signal);
    // Where a place is free the call is made at once, and not in a later turn.
    const pass = entered instanceof Promise ? await entered : entered;
    if (signal?.aborted) {
      // Between having the place and getting to know of it.
      pass.ignored();
      throw signal.reason;
    }
    return runWithPass(pass, call, signal, judge);
  }

  /** For `learn`: whoever may begin by it does so right after. */
  setLimit(limit: number): void {
    this.limit = limit;
  }

  /** Refuses newcomers and whoever waits; calls under way go on. */
  close(): void {
    this.isClosed = true;
    for (let first = this.line.first; first; first = this.line.first) this.turnAway(first, 'closed');
  }

  /** Resolves as soon as no call is under way and nobody waits. */
  drain(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    if (!this.idle) {
      let resolve = () => {};
      const promise = new Promise<void>((resolved) => {
        resolve = resolved;
      });
      this.idle = { promise, resolve };
    }
    return this.idle.promise;
  }

  stats(): GateStats {
    this.expire(this.time.now());
    return { limit: this.limit, inFlight: this.inFlight, waiting: this.line.length, refused: this.refused };
  }

  private get isIdle(): boolean {
    return this.inFlight === 0 && this.line.length === 0;
  }

  private take(nowMs: number): Pass | undefined {
    // First, so that an overdue waiter is overdue whether or not the alarm has gone off yet.
    this.expire(nowMs);
    // Somebody may be in line although a place is free: a listener acts while places are being given out.
    if (this.isClosed || this.line.length > 0 || this.inFlight >= this.limit) return undefined;
    return this.begin(0, nowMs);
  }

  private enter(signal: AbortSignal | undefined): Pass | Promise<Pass> {
    signal?.throwIfAborted();
    const nowMs = this.time.now();
    const pass = this.take(nowMs);
    if (pass) return pass;
    if (this.isClosed) throw this.refusal('closed');
    if (this.line.length >= this.settings.queue) throw this.refusal('full');
    return new Promise((begin, refuse) => {
      const untilMs = nowMs + this.settings.queueTimeoutMs;
      const waiter: Waiter = { sinceMs: nowMs, untilMs, begin, refuse, forgetSignal: () => {} };
      const place = this.line.add(waiter);
      if (signal)
        waiter.forgetSignal = whenAborted(signal, () => {
          this.leave(place);
          refuse(signal.reason);
        });
      this.watch();
      this.tell('queued', { waiting: this.line.length });
    });
  }

  private begin(waitedMs: number, nowMs: number): Pass {
    this.inFlight += 1;
    const { inFlight } = this;
    const { steps } = this.time;
    const pass = new OncePass((outcome) => {
      this.inFlight -= 1;
      const endedMs = this.time.now();
      const durationMs = endedMs - nowMs;
      this.learn({ outcome, durationMs, inFlight, endedMs, isMeasured: steps === this.time.steps });
      // Before anybody is told, so that no listener takes the place from the first in line.
      this.admit();
      this.tell('ended', { outcome, durationMs });
      this.noticeIdle();
    });
    this.tell('started', { waitedMs, inFlight });
    return pass;
  }

  /** Lets in whoever may. */
  private admit(): void {
    const nowMs = this.time.now();
    this.expire(nowMs);
    for (let first = this.line.first; first && this.inFlight < this.limit; first = this.line.first) {
      const { value: waiter } = first;
      this.leave(first);
      waiter.begin(this.begin(nowMs - waiter.sinceMs, nowMs));
    }
  }

  private expire(nowMs: number): void {
    for (let first = this.line.first; first && first.value.untilMs <= nowMs; first = this.line.first)
      this.turnAway(first, 'waited-too-long');
  }

  private turnAway(place: InLine<Waiter>, reason: GateRefusal): void {
    // First, so that a listener who is told of it does not find it waiting.
    this.leave(place);
    place.value.refuse(this.refusal(reason));
  }

  private leave(place: InLine<Waiter>): void {
    this.line.remove(place);
    place.value.forgetSignal();
    if (this.line.length === 0) this.stopWatching();
  }

  /** Asked when a call has ended and the next has its place: who waits does so because others are under way. */
  private noticeIdle(): void {
    if (!this.idle || !this.isIdle) return;
    this.idle.resolve();
    this.idle = undefined;
  }

  /** Sleeps until the time of the first in line is up. */
  private watch(): void {
    const untilMs = this.line.first?.value.untilMs ?? Number.POSITIVE_INFINITY;
    if (this.alarm || untilMs === Number.POSITIVE_INFINITY) return;
    const alarm = new AbortController();
    this.alarm = alarm;
    this.settings.clock.sleep(untilMs - this.time.now(), alarm.signal).then(
      () => {
        if (this.alarm !== alarm) return;
        this.alarm = undefined;
        // Whoever has slept for so long knows that the time has passed, also when the clock was set back meanwhile.
        this.expire(Math.max(untilMs, this.time.now()));
        this.watch();
      },
      (error) => {
        // That nobody waits any more is how a sleep is meant to end; anything else is the clock's failure and must surface.
        if (!alarm.signal.aborted) throw error;
      },
    );
  }

  /** Nobody waits: nothing may keep the process alive. */
  private stopWatching(): void {
    this.alarm?.abort();
    this.alarm = undefined;
  }

  private countRefusal(reason: GateRefusal): void {
    this.refused += 1;
    this.tell('refused', { reason });
  }

  private refusal(reason: GateRefusal): SluiceError {
    this.countRefusal(reason);
    return new SluiceError('bulkhead-full', `${this.settings.title} ${this.because(reason)}`);
  }

  private because(reason: GateRefusal): string {
    if (reason === 'closed') return 'is closed.';
    if (reason === 'waited-too-long') return `had no place for the call within ${this.settings.queueTimeoutMs} ms.`;
    const waiting = this.settings.queue === 0 ? '' : `, and ${this.line.length} wait`;
    return `is full: ${this.inFlight} of ${this.limit} calls are under way${waiting}.`;
  }
}
