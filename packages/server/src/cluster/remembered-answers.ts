/**
 * A request that is sent again gets the answer it got the first time. Remembered for the whole node, not by shard, so that a thousand shards do
 * not each remember as much as they may.
 *
 *      granted ──────── grace ────────►│ the grant is given again      later: store-unavailable
 *
 * A caller counts a grant's age from when it first sent the request, and may have forgotten when that was, or be another one than the first. So a
 * grant that nobody may use any more is not given again: it would be taken for a fresh one. Refusals do no harm, however old they are.
 *
 * That a reservation was settled is remembered for as long as it might be settled otherwise: the other result of a request that was made twice must
 * not give the same back again.
 */
import { type Check, type Decision, SluiceError } from 'sluice';
import { requestText, settledForMs } from 'sluice/client';
import type { Answer } from '../service/service.ts';
import { isTaking } from './shard.ts';

const generationMs = 10_000;
const mostAnswers = 50_000;

interface Remembered {
  readonly madeMs: number;
  readonly answer: Answer<Decision[]>;
}

export class RememberedAnswers {
  private readonly graceMs: number;
  private young = new Map<string, Remembered>();
  private old = new Map<string, Remembered>();
  private turnedMs = Number.NEGATIVE_INFINITY;
  private readonly settled = new Map<string, Remembered & { readonly untilMs: number }>();

  constructor(graceMs: number) {
    this.graceMs = graceMs;
  }

  /** The answer to this request, made now or before. Throws, or rejects, where it is a grant that is too old. */
  once(requestId: string, checks: readonly Check[], nowMs: number, make: () => Answer<Decision[]>): Answer<Decision[]> {
    if (nowMs - this.turnedMs > generationMs || this.young.size >= mostAnswers) {
      this.old = nowMs - this.turnedMs > 2 * generationMs ? new Map() : this.young;
      this.young = new Map();
      this.turnedMs = nowMs;
    }
    const id = requestText(requestId, checks);
    const known = this.young.get(id) ?? this.old.get(id) ?? this.settled.get(id);
    if (known !== undefined)
      return nowMs - known.madeMs > this.graceMs ? withoutGrant(checks, known.answer) : known.answer;
    const answer = make();
    if (checks.some(({ operation }) => operation === 'settle')) this.keepSettled(id, checks, answer, nowMs);
    else this.young.set(id, { madeMs: nowMs, answer });
    // What failed was not answered: it may be tried again. But it was carried out, and only its standby has not confirmed it: what gives something back would
    // do so twice, and is remembered all the same.
    if (answer instanceof Promise && !checks.some(givesBack))
      answer.catch(() => [this.young, this.old].some((answers) => answers.delete(id)));
    return answer;
  }

  private keepSettled(id: string, checks: readonly Check[], answer: Answer<Decision[]>, nowMs: number): void {
    // The other result may have come by as much as the grace later.
    const untilMs = nowMs + Math.max(generationMs, this.graceMs) + settledForMs(checks);
    for (const [oldest, settled] of this.settled) {
      if (settled.untilMs > nowMs && this.settled.size < mostAnswers) break;
      this.settled.delete(oldest);
    }
    this.settled.set(id, { madeMs: nowMs, answer, untilMs });
  }
}

function givesBack({ operation }: Check): boolean {
  return operation === 'settle' || operation === 'reward' || operation === 'reset';
}

function withoutGrant(checks: readonly Check[], answer: Answer<Decision[]>): Answer<Decision[]> {
  if (answer instanceof Promise) return answer.then((decisions) => refusalOf(checks, decisions));
  return refusalOf(checks, answer);
}

function refusalOf(checks: readonly Check[], decisions: Decision[]): Decision[] {
  if (!isGrant(checks, decisions)) return decisions;
  throw new SluiceError('store-unavailable', 'The request was granted before, longer ago than a grant may be used.');
}

/** Whether somebody may do something because of it. */
function isGrant(checks: readonly Check[], decisions: readonly Decision[]): boolean {
  const isUse = (check: Check) => (isTaking(check) && check.operation !== 'peek') || check.operation === 'renew';
  const isRefused = checks.some((check, i) => isUse(check) && !check.shadow && !decisions[i]!.allowed);
  return !isRefused && checks.some(isUse);
}
