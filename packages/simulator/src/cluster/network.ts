/**
 * What carries messages between hosts. Nothing is promised: a message may be late, overtaken, or lost; the answer may be lost though the
 * question was not. Nothing arrives twice, unless it is made to. What is sent into a cut is lost with the connection, or arrives when the cut has
 * healed, as TCP would have it; the seed says which.
 */
import type { EventLoop } from '../events.ts';
import type { Random } from '../random.ts';

export interface Weather {
  /** How long most messages take, on average. */
  readonly delayMs: number;
  /** The share that takes longer, */
  readonly slowShare: number;
  /** by so much on average. */
  readonly slowMs: number;
  /** The share that takes very much longer: more than anybody waits for. */
  readonly strayShare: number;
  readonly strayMs: number;
  readonly lossShare: number;
}

export const fairWeather: Weather = {
  delayMs: 0.3,
  slowShare: 0,
  slowMs: 0,
  strayShare: 0,
  strayMs: 0,
  lossShare: 0,
};

export interface Envelope {
  readonly from: string;
  readonly to: string;
  /** What is in it: `'etcd'`, `'look'`, `'check'`; of an answer, with `?` before it. */
  readonly what: string;
  readonly content: unknown;
}

/** How long this very message takes; `'lost'`; or nothing, and chance decides. */
export type Postmaster = (envelope: Envelope) => number | 'lost' | undefined;

/** For how long after its arrival this very message arrives once more; `undefined`: it does not. */
export type Echo = (envelope: Envelope) => number | undefined;

export class Network {
  /** For schedules that are written by hand. */
  postmaster: Postmaster | undefined;
  echo: Echo | undefined;
  /** Of what goes wrong. */
  readonly hindrances = new Set<Postmaster>();
  weather: Weather;
  readonly #loop: EventLoop;
  readonly #random: Random;
  /** By link: how many cuts it is under, and what waits for them to heal. */
  readonly #cuts = new Map<string, { depth: number; waiting: (() => void)[] }>();

  constructor(loop: EventLoop, random: Random, weather: Weather) {
    this.#loop = loop;
    this.#random = random;
    this.weather = weather;
  }

  send(envelope: Envelope, deliver: () => void): void {
    const ordered = this.#ordered(envelope);
    if (ordered === 'lost') return;
    if (ordered !== undefined) {
      this.#loop.at(this.#loop.nowMs + ordered, deliver);
      return;
    }
    const cut = this.#cuts.get(linkOf(envelope.from, envelope.to));
    if (cut && cut.depth > 0) {
      if (this.#random.uniform() < 0.5) cut.waiting.push(deliver);
      return;
    }
    if (this.#random.uniform() < this.weather.lossShare) return;
    const delayMs = this.#delayMs();
    this.#loop.at(this.#loop.nowMs + delayMs, deliver);
    const afterMs = this.echo?.(envelope);
    if (afterMs !== undefined) this.#loop.at(this.#loop.nowMs + delayMs + afterMs, deliver);
  }

  #ordered(envelope: Envelope): ReturnType<Postmaster> {
    let ordered = this.postmaster?.(envelope);
    for (const hindrance of this.hindrances) ordered ??= hindrance(envelope);
    return ordered;
  }

  /** Nothing gets from one to the other. Returns how to heal it; cuts may overlap. */
  cut(from: string, to: string): () => void {
    const link = linkOf(from, to);
    const cut = this.#cuts.get(link) ?? { depth: 0, waiting: [] };
    this.#cuts.set(link, cut);
    cut.depth += 1;
    let isHealed = false;
    return () => {
      if (isHealed) return;
      isHealed = true;
      cut.depth -= 1;
      if (cut.depth > 0) return;
      for (const deliver of cut.waiting.splice(0)) this.#loop.at(this.#loop.nowMs + this.#delayMs(), deliver);
    };
  }

  #delayMs(): number {
    const { delayMs, slowShare, slowMs, strayShare, strayMs } = this.weather;
    const chance = this.#random.uniform();
    const mostMs = this.#random.exponential(delayMs);
    if (chance < strayShare) return mostMs + this.#random.exponential(strayMs);
    if (chance < strayShare + slowShare) return mostMs + this.#random.exponential(slowMs);
    return mostMs;
  }
}

function linkOf(from: string, to: string): string {
  return `${from}>${to}`;
}
