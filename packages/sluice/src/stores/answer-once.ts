/**
 * A request that is sent again gets the answer it got the first time, and is not counted twice. For stores that live where
 * they are asked: remote ones remember on their server.
 */
import type { Decision } from '../vocabulary/decision.ts';
import { invalid } from '../vocabulary/errors.ts';
import type { Check } from './store.ts';

/** How long an answer is remembered, unless so many more came after it. */
export const replayMs = 60_000;
const mostAnswers = 100_000;

type Apply = (checks: readonly Check[], atMs?: number) => Decision[];

export function answerOnce(
  now: () => number,
  apply: Apply,
): (checks: readonly Check[], atMs?: number, requestId?: string) => Decision[] {
  // Oldest first.
  const answers = new Map<string, { readonly untilMs: number; readonly decisions: Decision[] }>();

  function forget(nowMs: number): void {
    for (const [id, { untilMs }] of answers) {
      if (untilMs > nowMs && answers.size < mostAnswers) return;
      answers.delete(id);
    }
  }

  return (checks, atMs, requestId) => {
    if (requestId === undefined) return apply(checks, atMs);
    mustBeId(requestId);
    const nowMs = atMs ?? now();
    const id = requestText(requestId, checks);
    forget(nowMs);
    const known = answers.get(id);
    if (known) return known.decisions;
    const decisions = apply(checks, atMs);
    answers.set(id, { untilMs: nowMs + replayMs, decisions });
    return decisions;
  };
}

/** What tells a request from all others: the same id with anything else in it is another request. */
export function requestText(requestId: string, checks: readonly Check[]): string {
  return JSON.stringify([
    requestId,
    ...checks.map(
      ({ name, key, policy, cost, operation = 'check', actual, durationMs, receipt, maxDelayMs, shadow }) => [
        [name, key, policy, cost, operation],
        [actual, durationMs, receipt, maxDelayMs, shadow],
      ],
    ),
  ]);
}

export function mustBeId(requestId: string): void {
  if (typeof requestId !== 'string' || requestId === '') throw invalid('requestId', 'a text', requestId);
}
