/**
 * What a policy would have refused, had it been there: every client of the trace is a key, and the library itself decides.
 *
 *      trace ──► client by client ──► stays within it? ──► nothing to ask
 *                                 └──► asks call by call ──► who, how many, since when, for how long
 *
 * Clients and calls that stand for others count as many times; what is said of a single client is said of itself, as far as the trace has it.
 */
import type { Policy } from 'sluice';
import type { Trace } from '../trace/trace.ts';
import { type ClientReplay, canDelay, clientReplay, isWithin, safeWindowMs } from './client-replay.ts';
import { type ClientRuns, clientRuns } from './client-runs.ts';
import { WorstWindow } from './worst-window.ts';

export interface WhatIfOptions {
  /** How many of the most refused clients are named. Default 10. */
  readonly top?: number | undefined;
  /** Into how many slices the time is cut. Default 60. */
  readonly slices?: number | undefined;
}

export interface WhatIf {
  readonly policy: Policy;
  readonly calls: number;
  readonly refusedCalls: number;
  readonly refusedCallRatio: number;
  readonly cost: number;
  readonly refusedCost: number;
  readonly refusedCostRatio: number;
  readonly clients: number;
  /** Those who were refused at least once. */
  readonly refusedClients: number;
  readonly refusedClientRatio: number;
  /** Calls that pass and are held back first. */
  readonly delayedCalls: number;
  readonly delayMsMax: number;
  /** By how much of theirs was refused, the most first. */
  readonly mostRefused: readonly RefusedClient[];
  readonly overTime: RefusalsOverTime;
  /** The most that the policy let through in one of its own windows, of one client. */
  readonly worstWindow: { readonly cost: number; readonly limit: number; readonly client: string | undefined };
}

export interface RefusedClient {
  readonly name: string;
  readonly calls: number;
  readonly refusedCalls: number;
  readonly refusedCost: number;
  readonly firstRefusedMs: number;
  /** The longest time between a refusal and the next call that passed, or the last refusal where none did. */
  readonly blockedMsMax: number;
  /** How many clients this one stands for. */
  readonly weight: number;
}

export interface RefusalsOverTime {
  readonly startMs: number;
  readonly sliceMs: number;
  readonly calls: Float64Array;
  readonly refusedCalls: Float64Array;
}

export function whatIf(trace: Trace, policy: Policy, options: WhatIfOptions = {}): WhatIf {
  const { top = 10, slices = 60 } = options;
  const runs = clientRuns(trace);
  const tally = new Tally(runs, policy, top, slices);
  const replay = clientReplay(policy, runs.startMs);
  const safeMs = safeWindowMs(policy, replay.most);
  const peaks = safeMs === undefined ? undefined : runs.peaks(safeMs);
  for (let client = 0; client < runs.clientList.count; client += 1) {
    tally.begin(client);
    if (peaks !== undefined && isWithin(peaks[client]!, replay.most)) tally.pass(client);
    else {
      replay.begin();
      tally.replay(client, replay);
    }
  }
  return tally.result();
}

/** The name of a client is made only where it is shown. */
type Refused = Omit<RefusedClient, 'name'> & { readonly client: number };

class Tally {
  private readonly runs: ClientRuns;
  private readonly policy: Policy;
  private readonly top: number;
  private readonly sliceMs: number;
  private readonly calls: Float64Array;
  private readonly refusedCalls: Float64Array;
  private readonly isDelaying: boolean;
  private readonly windowMs: number;
  private readonly worst: WorstWindow;
  private cost = 0;
  private refusedCost = 0;
  private clients = 0;
  private refusedClients = 0;
  private delayedCalls = 0;
  private delayMsMax = 0;
  private readonly refused: Refused[] = [];
  private weight = 1;
  private callWeight = 1;

  constructor(runs: ClientRuns, policy: Policy, top: number, slices: number) {
    this.runs = runs;
    this.policy = policy;
    this.top = top;
    this.sliceMs = Math.max(Number.MIN_VALUE, (runs.endMs - runs.startMs) / slices);
    this.calls = new Float64Array(slices);
    this.refusedCalls = new Float64Array(slices);
    this.isDelaying = canDelay(policy);
    this.windowMs = policy.window ?? 0;
    this.worst = new WorstWindow(this.windowMs);
  }

  begin(client: number): void {
    this.weight = this.runs.clientList.weightOf(client);
    this.callWeight = this.runs.clientList.callWeightOf(client);
    this.clients += this.weight;
    this.worst.begin(client);
  }

  /** Nothing of this client's is refused. */
  pass(client: number): void {
    const { starts, atMs, calls, costs } = this.runs;
    let cost = 0;
    for (let entry = starts[client]!; entry < starts[client + 1]!; entry += 1) {
      cost += costs[entry]!;
      this.calls[this.sliceOf(atMs[entry]!)]! += calls[entry]! * this.callWeight;
    }
    this.cost += cost * this.callWeight;
    if (cost > this.worst.cost) this.worst.note(this.runs.peaks(this.windowMs)[client]!);
  }

  replay(client: number, replay: ClientReplay): void {
    const { starts, atMs, calls, costs, clientList } = this.runs;
    const refused = { calls: 0, cost: 0, firstMs: 0 };
    let blockedSinceMs = Number.NaN;
    let blockedMsMax = 0;
    for (let entry = starts[client]!; entry < starts[client + 1]!; entry += 1) {
      const nowMs = atMs[entry]!;
      const asked = calls[entry]!;
      const each = costs[entry]! / asked;
      const passed = this.ask(replay, nowMs, asked, costs[entry]!);
      const slice = this.sliceOf(nowMs);
      this.calls[slice]! += asked * this.callWeight;
      this.cost += costs[entry]! * this.callWeight;
      // Still blocked, or free again right now.
      if (!Number.isNaN(blockedSinceMs)) blockedMsMax = Math.max(blockedMsMax, nowMs - blockedSinceMs);
      if (passed > 0) blockedSinceMs = Number.NaN;
      if (passed === asked) continue;
      if (Number.isNaN(blockedSinceMs)) blockedSinceMs = nowMs;
      if (refused.calls === 0) refused.firstMs = nowMs;
      refused.calls += asked - passed;
      refused.cost += (asked - passed) * each;
      this.refusedCalls[slice]! += (asked - passed) * this.callWeight;
    }
    if (refused.calls === 0) return;
    this.refusedCost += refused.cost * this.callWeight;
    this.refusedClients += this.weight;
    this.keep({
      client,
      calls: clientList.callsOf(client),
      refusedCalls: refused.calls,
      refusedCost: refused.cost,
      firstRefusedMs: refused.firstMs,
      blockedMsMax,
      weight: this.weight,
    });
  }

  private ask(replay: ClientReplay, atMs: number, calls: number, cost: number): number {
    const each = cost / calls;
    if (!this.isDelaying) {
      const passed = replay.ask(atMs, calls, cost);
      if (passed > 0) this.worst.grant(atMs, passed * each);
      return passed;
    }
    let delayed = 0;
    const delaysMs: number[] = [];
    const passed = replay.ask(atMs, calls, cost, (delayMs) => {
      delayed += 1;
      delaysMs.push(delayMs);
      if (delayMs > this.delayMsMax) this.delayMsMax = delayMs;
    });
    this.delayedCalls += delayed * this.callWeight;
    // Those that need not wait are first in line.
    if (passed > delayed) this.worst.grant(atMs, (passed - delayed) * each);
    for (const delayMs of delaysMs) this.worst.grant(atMs + delayMs, each);
    return passed;
  }

  private sliceOf(atMs: number): number {
    return Math.min(this.calls.length - 1, Math.floor((atMs - this.runs.startMs) / this.sliceMs));
  }

  /** Of millions that may be refused only the first few are ever shown. */
  private keep(refused: Refused): void {
    this.refused.push(refused);
    if (this.refused.length >= 4096 + this.top) this.sortRefused();
  }

  private sortRefused(): void {
    this.refused.sort((a, b) => b.refusedCalls - a.refusedCalls || a.firstRefusedMs - b.firstRefusedMs);
    this.refused.length = Math.min(this.refused.length, this.top);
  }

  result(): WhatIf {
    this.sortRefused();
    const { clientList } = this.runs;
    const calls = sum(this.calls);
    const refusedCalls = sum(this.refusedCalls);
    return {
      policy: this.policy,
      calls,
      refusedCalls,
      refusedCallRatio: ratio(refusedCalls, calls),
      cost: this.cost,
      refusedCost: this.refusedCost,
      refusedCostRatio: ratio(this.refusedCost, this.cost),
      clients: this.clients,
      refusedClients: this.refusedClients,
      refusedClientRatio: ratio(this.refusedClients, this.clients),
      delayedCalls: this.delayedCalls,
      delayMsMax: this.delayMsMax,
      mostRefused: this.refused.map(({ client, ...rest }) => ({ name: clientList.nameOf(client), ...rest })),
      overTime: {
        startMs: this.runs.startMs,
        sliceMs: this.sliceMs,
        calls: this.calls,
        refusedCalls: this.refusedCalls,
      },
      worstWindow: {
        cost: this.worst.cost,
        limit: this.policy.limit,
        client: this.worst.client < 0 ? undefined : clientList.nameOf(this.worst.client),
      },
    };
  }
}

export function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function sum(numbers: Float64Array): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
