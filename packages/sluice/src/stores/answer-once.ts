/**
 * A request that is sent again gets the answer it got the first time, and is not counted twice. For stores that live where
 * they are asked: remote ones remember on their server.
 */
import type { Decision } from '../vocabulary/decision.ts';
import { invalid } from '../vocabulary/errors.ts';
import { isSamePolicy } from '../vocabulary/policy.ts';
import type { Check } from './store.ts';

/** How long an answer is remembered, unless so many more came after it. */
export const replayMs = 60_000;
// Of answers that are remembered together; two such generations are.
const mostAnswers = 50_000;

type Apply = (checks: readonly Check[], atMs?: number) => Decision[];

interface Remembered {
  readonly untilMs: number;
  readonly checks: readonly Check[];
  readonly decisions: Decision[];
}

export function answerOnce(
  now: () => number,
  apply: Apply,
): (checks: readonly Check[], atMs?: number, requestId?: string) => Decision[] {
  const recent = new Answers(false);
  const settlements = new Answers(true);
  return (checks, atMs, requestId) => {
    if (requestId === undefined) return apply(checks, atMs);
    mustBeId(requestId);
    const nowMs = atMs ?? now();
    const answers = checks.some(({ operation }) => operation === 'settle') ? settlements : recent;
    const known = answers.find(requestId, checks, nowMs);
    if (known) return known;
    const decisions = apply(checks, atMs);
    answers.add(requestId, { untilMs: nowMs + replayMs + settledForMs(checks), checks, decisions }, nowMs);
    return decisions;
  };
}

/**
 * The answers of late, by request id. Whole generations are forgotten at once: to take the oldest out of a map one by one costs more
 * than everything else about a check.
 */
class Answers {
  private recent = new Map<string, Remembered>();
  private older = new Map<string, Remembered>();
  private recentUntilMs = Number.POSITIVE_INFINITY;
  // Whether some answer is under the whole text of its request, its id being that of another one.
  private hasTexts = false;
  private hasOlderTexts = false;
  // Another request of the id that was looked for last.
  private other: Remembered | undefined;
  // Whether a generation lasts until its last answer is old, and not its first.
  private readonly outlastsAll: boolean;

  constructor(outlastsAll: boolean) {
    this.outlastsAll = outlastsAll;
  }

  find(requestId: string, checks: readonly Check[], nowMs: number): Decision[] | undefined {
    const known = this.recent.get(requestId) ?? this.older.get(requestId);
    this.other = undefined;
    if (known !== undefined && isSameRequest(known.checks, checks)) return answerOf(known, nowMs);
    this.other = known;
    if (!this.hasTexts && !this.hasOlderTexts) return undefined;
    const text = requestText(requestId, checks);
    return answerOf(this.recent.get(text) ?? this.older.get(text), nowMs);
  }

  /** Of the request that was looked for last. */
  add(requestId: string, remembered: Remembered, nowMs: number): void {
    if (this.recent.size >= mostAnswers || nowMs >= this.recentUntilMs) {
      this.older = this.recent;
      this.hasOlderTexts = this.hasTexts;
      this.recent = new Map();
      this.hasTexts = false;
    }
    if (this.recent.size === 0) this.recentUntilMs = remembered.untilMs;
    else if (this.outlastsAll) this.recentUntilMs = Math.max(this.recentUntilMs, remembered.untilMs);
    if (this.other !== undefined) this.hasTexts = true;
    this.recent.set(this.other === undefined ? requestId : requestText(requestId, remembered.checks), remembered);
  }
}

/** For how long what these settle might be settled otherwise: so much longer the answer is remembered. 0 where nothing is settled. */
export function settledForMs(checks: readonly Check[]): number {
  let longestMs = 0;
  for (const { operation, durationMs = 0 } of checks)
    if (operation === 'settle') longestMs = Math.max(longestMs, durationMs);
  return longestMs;
}

function answerOf(known: Remembered | undefined, nowMs: number): Decision[] | undefined {
  return known !== undefined && nowMs < known.untilMs ? known.decisions : undefined;
}

/** As `requestText` tells them apart. */
function isSameRequest(some: readonly Check[], others: readonly Check[]): boolean {
  return some.length === others.length && some.every((check, i) => isSameCheck(check, others[i] as Check));
}

function isSameCheck(a: Check, b: Check): boolean {
  return (
    a.name === b.name &&
    a.key === b.key &&
    a.cost === b.cost &&
    (a.operation ?? 'check') === (b.operation ?? 'check') &&
    (a.operation === 'settle' || (a.actual === b.actual && a.durationMs === b.durationMs)) &&
    a.maxDelayMs === b.maxDelayMs &&
    a.shadow === b.shadow &&
    (a.receipt === b.receipt || String(a.receipt) === String(b.receipt)) &&
    isSamePolicy(a.policy, b.policy)
  );
}

/**
 * What tells a request from all others: the same id with anything else in it is another request. But a reservation is settled once, with whatever
 * was really used: the second to settle it is told what the first was told.
 */
export function requestText(requestId: string, checks: readonly Check[]): string {
  return JSON.stringify([
    requestId,
    ...checks.map(
      ({ name, key, policy, cost, operation = 'check', actual, durationMs, receipt, maxDelayMs, shadow }) => [
        [name, key, policy, cost, operation],
        [...(operation === 'settle' ? [undefined, undefined] : [actual, durationMs]), receipt, maxDelayMs, shadow],
      ],
    ),
  ]);
}

export function mustBeId(requestId: string): void {
  if (typeof requestId !== 'string' || requestId === '') throw invalid('requestId', 'a text', requestId);
}
