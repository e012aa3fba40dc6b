/**
 * A request that is sent again gets the answer it got the first time. Remembered for the whole node, not by shard, so that a thousand shards do
 * not each remember as much as they may.
 *
 *      granted ──────── grace ────────►│ the grant is given again      later: store-unavailable
 *
 * A caller counts a grant's age from when it first sent the request, and may have forgotten when that was, or be another one than the first. So a
 * grant that nobody may use any more is not given again: it would be taken for a fresh one. Refusals do no harm, however old they are.
 *
 * What gives back must not do so twice, whoever owns its key by then: that is the shard's to know (done-once.ts).
 */
import { type Check, type Decision, SluiceError } from 'sluice';
import { requestText } from 'sluice/client';
import type { Answer } from '../service/service.ts';
import { cancelStep, isCancel, onceOf, reserveStep } from './done-once.ts';
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
    const known = this.find(id);
    if (known !== undefined && !this.isTakenBack(requestId, known))
      return nowMs - known.madeMs > this.graceMs ? withoutGrant(checks, known.answer) : known.answer;
    const answer = make();
    this.young.set(id, { madeMs: nowMs, answer });
    if (isCancel(requestId)) this.young.set(takenBack(requestId), { madeMs: nowMs, answer });
    // What failed was not answered: it may be tried again. What is done once is not done again by that: its shard knows of it.
    if (answer instanceof Promise) answer.catch(() => [this.young, this.old].some((answers) => answers.delete(id)));
    return answer;
  }

  private find(id: string): Remembered | undefined {
    return this.young.get(id) ?? this.old.get(id);
  }

  /** What was taken here for a batch was given back, because another owner refused. That one may be replaced by the time the batch is sent again, and allow it. */
  private isTakenBack(requestId: string, { madeMs }: Remembered): boolean {
    const back = requestId.endsWith(reserveStep) ? this.find(takenBack(requestId)) : undefined;
    return back !== undefined && back.madeMs >= madeMs;
  }
}

/** Under which a batch is remembered of which something was given back. No text of a request is like it. */
function takenBack(requestId: string): string {
  const whole = isCancel(requestId) ? requestId.slice(0, -cancelStep.length) : requestId;
  return `${onceOf(whole)}${cancelStep}`;
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
