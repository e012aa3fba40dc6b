/**
 * Lines of a log → a trace, in memory that has a bound whatever the log's length.
 *
 *      line ──► client table ──► entries ──► sorted, from 0 ──► trace
 *               who is it?       when, how often
 *                    │               │
 *                    └── too many ───┴──►  1. the mean cost of a client's calls in a tick, instead of each
 *                                          2. a coarser tick, up to a second, if that makes much of it one
 *                                          3. fewer of the clients that call little  (thinning.ts)
 *                                          4. a tick coarser than a second, where few clients make most of the log
 */
import { SluiceError } from 'sluice';
import { mustBe } from '../invalid-option.ts';
import type { LogLine } from '../log/log-line.ts';
import { ClientTable, hashOf, KNOWN_CALLS, RECORD_WORDS } from './client-table.ts';
import { Entries } from './entries.ts';
import { LinesOrder } from './lines-order.ts';
import { type Budget, halvingsOf, planThinning, type Thinning, type ThinningPlan, unthinned } from './thinning.ts';
import type { ClientList, Trace } from './trace.ts';
import type { TraceReport } from './trace-report.ts';
import { Watch } from './watch.ts';

export interface TraceRecorderOptions {
  /** The most entries, of 24 bytes each. Default 8,000,000; 1,000 or more. */
  readonly maxEntries?: number;
  /** The most clients, of some 100 bytes each. Default 1,000,000; 100 or more. */
  readonly maxClients?: number;
  /** How many of the busiest clients are kept in any case. Default 4096, and at most a sixteenth of `maxClients`. */
  readonly busiest?: number;
  /** By how much a line may be late before it is asked whether time itself went back. Default one minute. */
  readonly disorderMs?: number;
}

export interface TraceRecorder {
  /** Takes one call. Nothing of the line is kept but copies. */
  take(line: LogLine): void;
  /** The trace. After it, nothing more can be taken. */
  finish(): Trace;
  /** So far. */
  report(): TraceReport;
}

const secondMs = 1000;
const minuteMs = 60_000;
// Each is a multiple of the one before, so that whole ticks become one.
const tickLadderMs = [1, 5, 10, 50, 100, 500, 1000, 5000, 10_000, 60_000, 600_000, 3_600_000];
const nameBytesPerClient = 64;
// What is made room for at once. Less, and the log would be gone through again after every few lines.
const roomRatio = 0.4;
// With fewer clients than this, a sample says too little of the others: a coarser tick is the smaller loss.
const fewestClients = 1000;

/** Takes the lines of a log, in any order, and makes a trace of them. */
export function traceRecorder(options: TraceRecorderOptions = {}): TraceRecorder {
  return new Recorder(options);
}

class Recorder implements TraceRecorder {
  readonly #maxEntries: number;
  readonly #maxClients: number;
  readonly #busiest: number;
  readonly #room: Budget;
  readonly #table = new ClientTable();
  readonly #entries: Entries;
  readonly #order: LinesOrder;
  #originMs = 0;
  #tickMs = secondMs;
  /** All times so far were whole seconds, and nothing had to be made coarser. */
  #isWholeSeconds = true;
  #isCoarse = false;
  #lines = 0;
  #linesLeftOut = 0;
  #thinning: Thinning = unthinned;
  #halvings = 0;
  /** Clients that made `heavyFrom` calls or more. */
  #heavies = 0;
  #watch: Watch | undefined;
  #isFinished = false;

  constructor({
    maxEntries = 8_000_000,
    maxClients = 1_000_000,
    busiest = 4096,
    disorderMs = minuteMs,
  }: TraceRecorderOptions) {
    this.#maxEntries = wholeAtLeast('maxEntries', maxEntries, 1000);
    this.#maxClients = wholeAtLeast('maxClients', maxClients, 100);
    this.#busiest = Math.min(wholeAtLeast('busiest', busiest, 0), Math.floor(Math.min(maxClients, maxEntries) / 16));
    if (!(disorderMs >= 0)) throw mustBe('disorderMs', 'milliseconds, 0 or more', disorderMs);
    this.#room = {
      clients: (1 - roomRatio) * maxClients,
      entries: (1 - roomRatio) * maxEntries,
      nameBytes: (1 - roomRatio) * maxClients * nameBytesPerClient,
    };
    this.#entries = new Entries(this.#table, maxEntries);
    this.#order = new LinesOrder(disorderMs);
  }

  take(line: LogLine): void {
    const { atMs, cost } = line;
    if (!Number.isFinite(atMs) || !(cost >= 0 && cost < Number.POSITIVE_INFINITY) || this.#isFinished)
      this.#refuse(line);
    if (this.#lines === 0) this.#begin(atMs);
    this.#lines += 1;
    this.#order.take(atMs);
    if (this.#entries.isFull) this.#makeRoomForEntries();
    const { bytes, start, end } = line.client;
    const hash = hashOf(bytes, start, end);
    let client = this.#table.find(hash, bytes, start, end);
    if (client < 0) {
      client = this.#admit(hash, bytes, start, end);
      if (client < 0) return;
    }
    const place = client * RECORD_WORDS + KNOWN_CALLS;
    const known = this.#table.records[place]! + 1;
    this.#table.records[place] = known;
    if (known === this.#thinning.heavyFrom) this.#welcomeHeavy();
    this.#entries.add(client, this.#tickOf(atMs), cost);
  }

  finish(): Trace {
    const entries = this.#entries;
    // Some are no longer busy, and not of the sample either.
    if (this.#watch !== undefined) this.#thin(this.#thinning);
    entries.sort();
    const startMs = this.#originMs + this.#tickMs * entries.rebase();
    this.#originMs = startMs;
    this.#isFinished = true;
    const { length, atTicks, clients, calls, costs } = entries;
    return { startMs, tickMs: this.#tickMs, length, atTicks, clients, calls, costs, clientList: this.#clientList() };
  }

  report(): TraceReport {
    const order = this.#order;
    const isEmpty = this.#lines === 0;
    return {
      lines: this.#lines,
      calls: this.#lines - this.#linesLeftOut,
      ...this.#estimate(),
      clientsKept: this.#table.count,
      thinnedTo: this.#thinning.oneIn,
      keptFromCalls: this.#thinning.heavyFrom,
      entries: this.#entries.length,
      firstMs: isEmpty ? 0 : order.firstMs,
      lastMs: isEmpty ? 0 : order.lastMs,
      spanMs: isEmpty ? 0 : order.lastMs - order.firstMs,
      tickMs: this.#tickMs,
      isCoarse: this.#isCoarse,
      hasAveragedCosts: this.#entries.hasAveragedCosts,
      lateLines: order.lateLines,
      lateMsMax: order.lateMsMax,
      stepsBack: order.stepsBack,
      stepBackMsMax: order.stepBackMsMax,
    };
  }

  #refuse({ atMs, cost }: LogLine): never {
    if (this.#isFinished) {
      throw new SluiceError(
        'unsupported-operation',
        'The trace is finished. Take lines before finish(), or with another traceRecorder().',
      );
    }
    if (!Number.isFinite(atMs)) throw mustBe('atMs', 'a finite number of milliseconds', atMs);
    throw mustBe('cost', 'a finite number, 0 or more', cost);
  }

  #begin(atMs: number): void {
    this.#originMs = Math.floor(atMs);
    this.#isWholeSeconds = atMs % secondMs === 0;
    this.#tickMs = this.#isWholeSeconds ? secondMs : 1;
  }

  #tickOf(atMs: number): number {
    const ticks = (atMs - this.#originMs) / this.#tickMs;
    const tick = Math.floor(ticks);
    if (tick === ticks || !this.#isWholeSeconds) return tick;
    this.#isWholeSeconds = false;
    this.#tickMs = 1;
    this.#entries.refine(secondMs);
    return Math.floor(atMs - this.#originMs);
  }

  /** The number of a client that is not in the table; -1: it is not kept. */
  #admit(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const table = this.#table;
    if (table.count >= this.#maxClients || table.nameBytes >= this.#maxClients * nameBytesPerClient)
      this.#makeRoomForClients();
    if (halvingsOf(hash) >= this.#halvings || this.#watch === undefined) return table.add(hash, bytes, start, end);
    const known = this.#watch.add(hash);
    if (known < this.#thinning.heavyFrom) {
      this.#linesLeftOut += 1;
      return -1;
    }
    const client = table.add(hash, bytes, start, end);
    table.records[client * RECORD_WORDS + KNOWN_CALLS] = known - 1;
    if (known > this.#thinning.heavyFrom) this.#welcomeHeavy();
    return client;
  }

  // As a log goes on, ever more clients have called so often. When they are twice as many as are to be kept in any case, the half that
  // calls less is no longer busy.
  #welcomeHeavy(): void {
    this.#heavies += 1;
    if (this.#heavies <= 2 * this.#busiest) return;
    const { oneIn, heavyFrom } = this.#thinning;
    const calls = this.#table.knownCallsFrom(heavyFrom).sort();
    this.#thinning = { oneIn, heavyFrom: calls[calls.length - 1 - this.#busiest]! + 1 };
    this.#countHeavies();
  }

  #countHeavies(): void {
    this.#heavies = this.#table.knownCallsFrom(this.#thinning.heavyFrom).length;
  }

  #makeRoomForClients(): void {
    const plan = this.#plan(this.#maxEntries);
    // Of the busiest there are at most a sixteenth of what fits, and of the others a sample can be as small as need be.
    if (plan === undefined) throw new Error('no sample of the clients is small enough');
    this.#thin(plan);
  }

  #makeRoomForEntries(): void {
    const entries = this.#entries;
    const most = this.#room.entries;
    entries.sort();
    entries.averageCosts();
    if (this.#tickMs < secondMs && entries.countAt(secondMs / this.#tickMs) <= most) {
      while (entries.length > most) this.#coarsen();
    }
    const fewest = Math.min(fewestClients, this.#maxClients / 8, this.#maxEntries / 8);
    while (entries.length > most) {
      const plan = this.#plan(most);
      if (plan !== undefined && (plan.clients >= fewest || this.#tickMs > this.#order.lastMs - this.#order.firstMs))
        this.#thin(plan);
      else this.#coarsen();
    }
  }

  #coarsen(): void {
    const fromMs = this.#tickMs;
    this.#tickMs = tickLadderMs.find((tickMs) => tickMs > fromMs) ?? 10 * fromMs;
    this.#isWholeSeconds = false;
    this.#isCoarse = true;
    this.#entries.rewrite(this.#tickMs / fromMs);
  }

  #plan(entries: number): ThinningPlan | undefined {
    const entriesOf = new Uint32Array(this.#table.count);
    for (let i = 0; i < this.#entries.length; i += 1) entriesOf[this.#entries.clients[i]!]! += 1;
    return planThinning(this.#table, entriesOf, this.#thinning, { ...this.#room, entries }, this.#busiest);
  }

  #thin({ oneIn, heavyFrom }: Thinning): void {
    const table = this.#table;
    const watch = this.#watch ?? new Watch();
    this.#watch = watch;
    const halvings = Math.log2(oneIn);
    const newClients = table.keepOnly((client) => {
      const known = table.knownCallsOf(client);
      const hash = table.hashes[client]!;
      if (known >= heavyFrom || halvingsOf(hash) >= halvings) return true;
      watch.learn(hash, known);
      return false;
    });
    this.#linesLeftOut += this.#entries.rewrite(1, newClients);
    this.#thinning = { oneIn, heavyFrom };
    this.#halvings = halvings;
    this.#countHeavies();
  }

  /** 0: it is no longer busy, and not of the sample either. */
  #weightOf(client: number): number {
    if (this.#table.knownCallsOf(client) >= this.#thinning.heavyFrom) return 1;
    return halvingsOf(this.#table.hashes[client]!) >= this.#halvings ? this.#thinning.oneIn : 0;
  }

  /** Whoever was left out before it was found to be busy has called more often than the trace shows. */
  #callWeightOf(client: number, calls: number): number {
    return (this.#weightOf(client) * this.#table.knownCallsOf(client)) / calls;
  }

  #callsByClient(): Float64Array {
    const calls = new Float64Array(this.#table.count);
    for (let i = 0; i < this.#entries.length; i += 1) calls[this.#entries.clients[i]!]! += this.#entries.calls[i]!;
    return calls;
  }

  #estimate(): { clients: number; clientsErrorRatio: number; clientsKeptLate: number } {
    const table = this.#table;
    const { oneIn } = this.#thinning;
    if (oneIn === 1) return { clients: table.count, clientsErrorRatio: 0, clientsKeptLate: 0 };
    const calls = this.#callsByClient();
    let clients = 0;
    let sampled = 0;
    let clientsKeptLate = 0;
    for (let client = 0; client < table.count; client += 1) {
      const weight = this.#weightOf(client);
      clients += weight;
      if (weight > 1) sampled += 1;
      if (calls[client]! < table.knownCallsOf(client)) clientsKeptLate += 1;
    }
    // Each of those below `heavyFrom` was kept with a chance of 1 in `oneIn`, on its own.
    return { clients, clientsErrorRatio: Math.sqrt(sampled * oneIn * (oneIn - 1)) / clients, clientsKeptLate };
  }

  #clientList(): ClientList {
    const table = this.#table;
    const calls = this.#callsByClient();
    return {
      count: table.count,
      nameOf: (client) => table.nameOf(client),
      callsOf: (client) => calls[client]!,
      weightOf: (client) => this.#weightOf(client),
      callWeightOf: (client) => this.#callWeightOf(client, calls[client]!),
    };
  }
}

function wholeAtLeast(option: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least) return value;
  throw mustBe(option, `a whole number, ${least} or more`, value);
}
