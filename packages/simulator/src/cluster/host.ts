/**
 * A machine with one process on it: its own clock, and everything that reaches the process or leaves it.
 *
 *      timer   ──┐                             ┌── sending
 *      message ──┼──► is it running? ──► process ──► is it still running? ──► network
 *                     │ paused: held until it goes on, in an order of chance
 *                     │ crashed: gone
 *
 * The clock has a rate and an origin of its own. While the machine is suspended it stands still, and only `uptimeMs` goes on. A stall is a
 * pause in the middle of a turn, between two looks at the clock: the second look shows the later time, and what the turn has to say
 * leaves when it is over.
 */
import type { NodeClock } from 'sluice-server/cluster';
import type { EventLoop } from '../events.ts';
import type { Random } from '../random.ts';

export type Passage = 'timer' | 'message' | 'sending';

/** One run of a program on a host: what was meant for it dies with it. */
export interface Run {
  isAlive: boolean;
}

/** What befalls a run at its next passage but so many: after it was dealt with, before anything it has to say is sent. */
export interface Strike {
  readonly afterPassages: number;
  readonly hit: () => void;
}

interface Held {
  readonly run: Run;
  readonly passage: Passage;
  readonly action: () => void;
}

export interface HostOptions {
  readonly loop: EventLoop;
  readonly name: string;
  readonly random: Random;
  /** Milliseconds that its clock shows for one that passes. */
  readonly rate: number;
  /** What its clock shows at the beginning. */
  readonly originMs: number;
  /** Its timers come when they are due, not a little early or late. */
  readonly isPunctual?: boolean;
}

// Of /proc/uptime.
const uptimeStepMs = 10;
// Node's timers go by whole milliseconds: they may come a little early, and a busy process sees them late.
const earlyMsMax = 0.9;
const lateMsMax = 1.5;

export class Host {
  readonly name: string;
  readonly #loop: EventLoop;
  readonly #random: Random;
  readonly #rate: number;
  readonly #originMs: number;
  readonly #isPunctual: boolean;
  #suspendedMs = 0;
  #suspendedSinceMs: number | undefined;
  #stalledMs = 0;
  #stallAtLook: { looks: number; ms: number } | undefined;
  #pauses = 0;
  #held: Held[] = [];
  #strike: { passages: number; hit: () => void } | undefined;
  #run: Run | undefined;

  constructor({ loop, name, random, rate, originMs, isPunctual = false }: HostOptions) {
    this.#loop = loop;
    this.name = name;
    this.#random = random;
    this.#rate = rate;
    this.#originMs = originMs;
    this.#isPunctual = isPunctual;
  }

  get isUp(): boolean {
    return this.#run !== undefined;
  }

  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  /** Starts a program; there is one at a time. */
  boot(): Run {
    if (this.#run) throw new Error(`Something runs on ${this.name} already.`);
    this.#run = { isAlive: true };
    return this.#run;
  }

  /** The program is gone, and with it all that was under way within the machine. */
  crash(): void {
    if (this.#run) this.#run.isAlive = false;
    this.#run = undefined;
    this.#strike = undefined;
    this.#stallAtLook = undefined;
    this.#held = [];
  }

  /**
   * Stops the program where it is, as SIGSTOP does. Returns how to let it go on; pauses may overlap. Whether timers or messages come first then,
   * nobody can say, unless it is said.
   */
  pause(): (first?: Passage) => void {
    this.#pauses += 1;
    let isOver = false;
    return (first = this.#random.uniform() < 0.5 ? 'timer' : 'message') => {
      if (isOver) return;
      isOver = true;
      this.#pauses -= 1;
      if (this.#pauses === 0) this.#release(first);
    };
  }

  /** The machine sleeps: a pause that its clock does not show. Returns how to wake it. */
  suspend(): () => void {
    if (this.#suspendedSinceMs !== undefined) return () => {};
    this.#suspendedSinceMs = this.#loop.nowMs;
    const goOn = this.pause();
    return () => {
      if (this.#suspendedSinceMs === undefined) return;
      this.#suspendedMs += this.#loop.nowMs - this.#suspendedSinceMs;
      this.#suspendedSinceMs = undefined;
      goOn();
    };
  }

  /** At the look at the clock that comes after so many others, the program stands still for so long. */
  stallAt(looks: number, ms: number): void {
    this.#stallAtLook = { looks, ms };
  }

  strikeAt({ afterPassages, hit }: Strike): void {
    this.#strike = { passages: afterPassages, hit };
  }

  /** Something gets into the program of this run, or out of it: now, or when it goes on. */
  pass(run: Run, passage: Passage, action: () => void): void {
    if (!run.isAlive) return;
    if (this.#pauses > 0) {
      this.#held.push({ run, passage, action });
      return;
    }
    action();
    if (this.#strike) this.#countDown(this.#strike);
  }

  /** The program says something: it leaves in an event of its own, so that anything may come in between. */
  say(run: Run, action: () => void): void {
    this.#loop.at(this.#loop.nowMs, () => this.pass(run, 'sending', action));
  }

  /** The clock, and the timers, of one run. */
  clockOf(run: Run): NodeClock {
    return {
      nowMs: () => this.nowMs(),
      uptimeMs: () => Math.floor(this.#shown(this.#lookMs()) / uptimeStepMs) * uptimeStepMs,
      after: (ms, action) => this.#after(run, ms, action),
    };
  }

  /** When the clock will have gone on by so much, in true time, if the machine does not sleep. */
  trueMsAfter(ms: number): number {
    return this.#loop.nowMs + ms / this.#rate;
  }

  nowMs(): number {
    return this.#shown(this.#lookMs() - this.#suspendedMs - this.#asleepMs());
  }

  #shown(passedMs: number): number {
    return this.#originMs + passedMs * this.#rate;
  }

  #asleepMs(): number {
    return this.#suspendedSinceMs === undefined ? 0 : this.#loop.nowMs - this.#suspendedSinceMs;
  }

  #lookMs(): number {
    const stall = this.#stallAtLook;
    if (stall && this.#pauses === 0) {
      if (stall.looks === 0) this.#stall(stall.ms);
      stall.looks -= 1;
    }
    return this.#loop.nowMs + this.#stalledMs;
  }

  #stall(ms: number): void {
    this.#stallAtLook = undefined;
    this.#stalledMs = ms;
    const goOn = this.pause();
    this.#loop.at(this.#loop.nowMs + ms, () => {
      this.#stalledMs = 0;
      goOn();
    });
  }

  #after(run: Run, ms: number, action: () => void): () => void {
    const dueMs = this.nowMs() + Math.max(0, ms);
    let callOff = () => {};
    let isOff = false;
    const wait = (forMs: number) => {
      callOff = this.#loop.at(this.#loop.nowMs + Math.max(0, forMs), ring);
    };
    const ring = () =>
      this.pass(run, 'timer', () => {
        if (isOff) return;
        // A machine that slept has not counted down.
        const leftMs = dueMs - this.nowMs();
        if (leftMs > earlyMsMax * 2) wait(leftMs / this.#rate);
        else action();
      });
    if (ms < Number.POSITIVE_INFINITY) {
      wait(ms / this.#rate + this.#inexactMs());
    }
    return () => {
      isOff = true;
      callOff();
    };
  }

  #inexactMs(): number {
    return this.#isPunctual ? 0 : this.#random.uniform() * (earlyMsMax + lateMsMax) - earlyMsMax;
  }

  #countDown(strike: { passages: number; hit: () => void }): void {
    strike.passages -= 1;
    if (strike.passages > 0) return;
    this.#strike = undefined;
    strike.hit();
  }

  /** All that was held happens at one moment. */
  #release(first: Passage): void {
    const held = this.#held;
    this.#held = [];
    const isFirst = ({ passage }: Held) => passage === first || passage === 'sending';
    for (const { run, passage, action } of [...held.filter(isFirst), ...held.filter((each) => !isFirst(each))]) {
      this.#loop.at(this.#loop.nowMs, () => this.pass(run, passage, action));
    }
  }
}
