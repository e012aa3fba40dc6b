/**
 * The auditor: did any key ever have more than its policy promises? It knows nothing of stores. It reads what was granted,
 * from a simulation, a test with real processes or a production log, and holds it against the promise.
 *
 *      grants ──► in order of time ──► one meter per key and clause ──► { ok, violations, worst, ... }
 *
 * `audit` has the whole history and sorts it. `auditor` is told as it goes, holds back what may still be overtaken, and
 * forgets what no longer matters.
 */
import { limiter } from '../../limit/limiter.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { aboveZero, knownFields, oneOf, type Policy, zeroOrMore } from '../../vocabulary/policy.ts';
import { EstimateMeter } from './estimate-meter.ts';
import { costOf, earliestMs, type Grant, latestMs } from './grant.ts';
import type { Meter } from './meter.ts';
import { type Clause, clauseText, promiseOf } from './promise.ts';
import { CertainRateMeter, PossibleRateMeter } from './rate-meter.ts';
import { SpanMeter } from './span-meter.ts';

/**
 * What counts as a violation when moments are known only as intervals. `'certain'`: it holds wherever the moments lie, so no
 * store is accused wrongly. `'possible'`: it holds for some moments within the intervals, so no violation is missed.
 */
export type Verdict = 'certain' | 'possible';

export interface AuditOptions {
  /** Default `'certain'`. */
  readonly verdict?: Verdict;
  /** The most violations listed; all are counted. Default 100. */
  readonly maxViolations?: number;
  /** Every call that was made, granted or not, in any order: says how much less was granted than could have been. */
  readonly demand?: Iterable<Grant>;
}

export interface AuditorOptions {
  /** Default `'certain'`. */
  readonly verdict?: Verdict;
  /** The most violations listed; all are counted. Default 100. */
  readonly maxViolations?: number;
  /** How much later than a younger one a grant may be told. Default 10 seconds. */
  readonly lateness?: Duration;
  /** The most keys that matter at once; one more is an error. Default 1,000,000. */
  readonly maxKeys?: number;
  /** The most grants held back at once; one more and the oldest are judged before `lateness` is over. Default 1,000,000. */
  readonly maxHeldBack?: number;
}

/** A stretch of time in which a key had `used`, where the promise allows `limit`. */
export interface Violation {
  readonly key: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly used: number;
  readonly limit: number;
}

export interface AuditReport {
  /** Whether every key kept within its policy's promise. */
  readonly ok: boolean;
  /** One per stretch of uses that were too many, at its worst; the first `maxViolations` of them. */
  readonly violations: readonly Violation[];
  readonly violationCount: number;
  /** The fullest that any key ever was, violation or not. */
  readonly worst: Violation | undefined;
  readonly keys: number;
  readonly grants: number;
  /** The sum of all costs granted. */
  readonly used: number;
  /** Grants that were told later than `lateness` allows, and judged as if they were younger. */
  readonly late: number;
  /** Only when the demand is known: what one exact limiter in memory would have granted of it. */
  readonly grantable: number | undefined;
  /** Only when the demand is known: the share, 0 to 1, of what could have been granted and was not. */
  readonly underAdmittedRatio: number | undefined;
  /** The same as text. */
  describe(): string;
}

export interface Auditor {
  /** Tells a grant, in about the order of time. */
  grant(grant: Grant): void;
  /** Tells a call, granted or not, in the order of time. */
  demand(call: Grant): void;
  /** On everything told so far. More may be told afterwards; what is older than what was reported on then counts as late. */
  report(): AuditReport;
}

interface KeyState {
  readonly meters: readonly Meter[];
  /** Per meter: the stretch that is too much and goes on. */
  readonly ongoing: (Violation | undefined)[];
}

function meterOf(clause: Clause, verdict: Verdict): Meter {
  if (clause.kind === 'estimate') return new EstimateMeter(clause);
  if (clause.kind !== 'rate') return new SpanMeter(clause);
  return verdict === 'certain' ? new CertainRateMeter(clause) : new PossibleRateMeter(clause);
}

/** The meters of all keys, fed in the order of time, and what they found. */
class Findings {
  grants = 0;
  used = 0;
  late = 0;
  keys = 0;
  readonly #policy: Policy;
  readonly #clauses: readonly Clause[];
  readonly #verdict: Verdict;
  readonly #maxViolations: number;
  readonly #maxKeys: number;
  readonly #states = new Map<string, KeyState>();
  readonly #ended: Violation[] = [];
  #endedCount = 0;
  #worst: Violation | undefined;
  #worstFill = 0;
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(policy: Policy, verdict: Verdict, maxViolations: number, maxKeys: number) {
    this.#policy = policy;
    this.#clauses = promiseOf(policy);
    this.#verdict = verdict;
    this.#maxViolations = zeroOrMore('maxViolations', maxViolations);
    this.#maxKeys = aboveZero('maxKeys', maxKeys);
  }

  /** When a grant has its turn: a certain verdict goes by the latest moments, a possible one by the earliest. */
  turnMs(grant: Grant): number {
    return this.#verdict === 'certain' ? latestMs(grant) : earliestMs(grant);
  }

  /** Of several whose turn is the same: in whichever order they were told, they are judged in this one. */
  otherMs(grant: Grant): number {
    return this.#verdict === 'certain' ? earliestMs(grant) : latestMs(grant);
  }

  take(grant: Grant): void {
    const cost = costOf(grant);
    const turnMs = this.turnMs(grant);
    if (turnMs < this.#latestMs) this.late += 1;
    // Judged as if it were younger: a certain verdict stays certain.
    const arriveMs = Math.max(turnMs, this.#latestMs);
    this.#latestMs = arriveMs;
    this.grants += 1;
    this.used += cost;
    if (cost === 0) return;
    const otherMs = this.#verdict === 'certain' ? earliestMs(grant) : Math.max(arriveMs, latestMs(grant));
    const state = this.#stateOf(grant.key);
    for (let i = 0; i < this.#clauses.length; i += 1) {
      const isHeld = this.#clauses[i]!.kind === 'held';
      this.#measure(grant.key, state, i, arriveMs, isHeld ? endOf(grant) : otherMs, cost);
    }
  }

  #measure(key: string, state: KeyState, i: number, arriveMs: number, leaveMs: number, cost: number): void {
    const meter = state.meters[i]!;
    meter.take(arriveMs, leaveMs, cost);
    const { fill, used, most: limit, fromMs, toMs } = meter;
    if (fill > this.#worstFill) {
      this.#worstFill = fill;
      this.#worst = { key, fromMs, toMs, used, limit };
    }
    const ongoing = state.ongoing[i];
    if (fill > 1) {
      if (!ongoing || used - limit > ongoing.used - ongoing.limit)
        state.ongoing[i] = { key, fromMs, toMs, used, limit };
    } else if (ongoing) {
      this.#end(ongoing);
      state.ongoing[i] = undefined;
    }
  }

  #end(violation: Violation): void {
    this.#endedCount += 1;
    if (this.#ended.length < this.#maxViolations) this.#ended.push(violation);
  }

  #stateOf(key: string): KeyState {
    const known = this.#states.get(key);
    if (known) return known;
    if (this.#states.size >= this.#maxKeys) this.#forgetQuiet();
    const meters = this.#clauses.map((clause) => meterOf(clause, this.#verdict));
    const state: KeyState = { meters, ongoing: meters.map(() => undefined) };
    this.#states.set(key, state);
    this.keys += 1;
    return state;
  }

  /** Forgets the keys whose past no longer matters. */
  #forgetQuiet(): void {
    for (const [key, { meters, ongoing }] of this.#states) {
      if (meters.some(({ quietMs }) => quietMs >= this.#latestMs)) continue;
      for (const violation of ongoing) if (violation) this.#end(violation);
      this.#states.delete(key);
    }
    if (this.#states.size < this.#maxKeys) return;
    throw new SluiceError('store-full', `The auditor holds ${this.#maxKeys} keys that matter. Raise maxKeys.`);
  }

  report(grantable: number | undefined): AuditReport {
    const violations = [...this.#ended];
    let violationCount = this.#endedCount;
    for (const { ongoing } of this.#states.values()) {
      for (const violation of ongoing) {
        if (!violation) continue;
        violationCount += 1;
        if (violations.length < this.#maxViolations) violations.push(violation);
      }
    }
    const { grants, used, late, keys } = this;
    const ratio = grantable === undefined ? undefined : grantable > 0 ? Math.max(0, 1 - used / grantable) : 0;
    const report = {
      ok: violationCount === 0,
      violations,
      violationCount,
      worst: this.#worst,
      keys,
      grants,
      used,
      late,
      grantable,
      underAdmittedRatio: ratio,
    };
    return { ...report, describe: () => describeReport(report, this.#policy, this.#clauses, this.#verdict) };
  }
}

function endOf({ endMs }: Grant): number {
  if (typeof endMs === 'number' && !Number.isNaN(endMs)) return endMs;
  throw invalid('endMs', 'given for the concurrency algorithm', endMs, 'Say when each place was given back.');
}

/** Reads a whole history, in any order. */
export function audit(grants: Iterable<Grant>, policy: Policy, options: AuditOptions = {}): AuditReport {
  knownFields('audit options', options, 'verdict maxViolations demand');
  const { verdict = 'certain', maxViolations = 100, demand } = options;
  oneOf('verdict', verdict, ['certain', 'possible']);
  const findings = new Findings(policy, verdict, maxViolations, Number.MAX_SAFE_INTEGER / 16);
  for (const grant of inOrder(
    grants,
    (each) => findings.turnMs(each),
    (each) => findings.otherMs(each),
  ))
    findings.take(grant);
  if (demand === undefined) return findings.report(undefined);
  const ideal = idealOf(policy);
  for (const call of inOrder(demand, earliestMs, latestMs)) ideal.call(call);
  return findings.report(ideal.granted);
}

/** Most histories are in order already; the others are sorted by numbers beside them, not by asking each grant again. */
function* inOrder(
  grants: Iterable<Grant>,
  turnOf: (grant: Grant) => number,
  otherOf: (grant: Grant) => number,
): Iterable<Grant> {
  const list = Array.isArray(grants) ? (grants as readonly Grant[]) : Array.from(grants);
  const turns = Float64Array.from(list, turnOf);
  const others = Float64Array.from(list, otherOf);
  const inTurn = (a: number, b: number) => turns[a]! - turns[b]! || others[a]! - others[b]! || a - b;
  if (turns.every((_, i) => i === 0 || inTurn(i - 1, i) < 0)) {
    yield* list;
    return;
  }
  const order = Uint32Array.from(list, (_, i) => i).sort(inTurn);
  for (const i of order) yield list[i]!;
}

/** What one limiter in memory, asked by everybody at once, would have granted. */
function idealOf(policy: Policy) {
  if (policy.algorithm === 'concurrency') {
    throw invalid('demand', 'left out for the concurrency algorithm', 'demand', 'What ends when is not known of it.');
  }
  const exact = limiter(policy) as { check(key: string, options: { cost: number; atMs: number }): Decision };
  const ideal = {
    granted: 0,
    call(call: Grant): void {
      const cost = costOf(call);
      if (exact.check(call.key, { cost, atMs: earliestMs(call) }).allowed) ideal.granted += cost;
    },
  };
  return ideal;
}

/** Is told as it goes, in bounded memory: for long soaks. */
export function auditor(policy: Policy, options: AuditorOptions = {}): Auditor {
  knownFields('auditor options', options, 'verdict maxViolations lateness maxKeys maxHeldBack');
  const { verdict = 'certain', maxViolations = 100, maxKeys = 1_000_000, maxHeldBack = 1_000_000 } = options;
  oneOf('verdict', verdict, ['certain', 'possible']);
  aboveZero('maxHeldBack', maxHeldBack);
  const latenessMs = parseDuration(options.lateness ?? '10s', 'lateness');
  const findings = new Findings(policy, verdict, maxViolations, maxKeys);
  let heldBack: Grant[] = [];
  let newestMs = Number.NEGATIVE_INFINITY;
  let judgeAt = Math.min(1024, maxHeldBack);
  let ideal: ReturnType<typeof idealOf> | undefined;

  /** Judges what nothing can overtake any more. */
  function judge(untilMs: number): void {
    const due: Grant[] = [];
    const later: Grant[] = [];
    for (const grant of heldBack) (findings.turnMs(grant) <= untilMs ? due : later).push(grant);
    heldBack = later;
    for (const grant of inOrder(
      due,
      (each) => findings.turnMs(each),
      (each) => findings.otherMs(each),
    ))
      findings.take(grant);
  }

  return {
    grant(grant) {
      newestMs = Math.max(newestMs, findings.turnMs(grant));
      latestMs(grant);
      heldBack.push(grant);
      if (heldBack.length < judgeAt) return;
      judge(newestMs - latenessMs);
      // Looked through again only when it has doubled: each grant is looked at a few times, however many are held back.
      judgeAt = Math.min(maxHeldBack, Math.max(1024, 2 * heldBack.length));
      if (heldBack.length >= maxHeldBack) judge(newestMs);
    },
    demand(call) {
      ideal ??= idealOf(policy);
      ideal.call(call);
    },
    report() {
      judge(newestMs);
      return findings.report(ideal?.granted);
    },
  };
}

function describeReport(
  report: Omit<AuditReport, 'describe'>,
  policy: Policy,
  clauses: readonly Clause[],
  verdict: Verdict,
): string {
  const { ok, violations, violationCount, worst, keys, grants, used, late, underAdmittedRatio } = report;
  const counted = `${grants} grants (cost ${round(used)}) of ${keys} ${keys === 1 ? 'key' : 'keys'}`;
  const sure = verdict === 'certain' ? 'certainly' : 'possibly';
  const times = violationCount === 1 ? 'once' : `${violationCount} times`;
  const lines = [
    ok ? `kept: ${counted}` : `BROKEN ${times}, ${sure}: ${counted}`,
    `${policy.algorithm} promises ${clauses.map(clauseText).join('; ')}`,
    ...violations.slice(0, shown).map((violation) => `  ${stretchText(violation)}`),
  ];
  if (violationCount > shown) lines.push(`  and ${violationCount - shown} more`);
  if (worst) lines.push(`fullest: ${stretchText(worst)}`);
  if (underAdmittedRatio !== undefined) lines.push(`refused without need: ${round(100 * underAdmittedRatio)} %`);
  if (late > 0) lines.push(`told too late to be judged in order: ${late}`);
  return lines.join('\n');
}

// As many violations as a reader takes in; the list has the others.
const shown = 5;

function stretchText({ key, fromMs, toMs, used, limit }: Violation): string {
  return `key ${JSON.stringify(key)} had ${round(used)} of ${round(limit)} from ${round(fromMs)} to ${round(toMs)} (${round(toMs - fromMs)} ms)`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
