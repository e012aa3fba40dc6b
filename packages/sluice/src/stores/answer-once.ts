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
    // An id is one caller's: the same one about another key is another request.
    const id = `${checks[0]?.key} ${requestId}`;
    forget(nowMs);
    const known = answers.get(id);
    if (known) return known.decisions;
    const decisions = apply(checks, atMs);
    answers.set(id, { untilMs: nowMs + replayMs, decisions });
    return decisions;
  };
}

export function mustBeId(requestId: string): void {
  if (typeof requestId !== 'string' || requestId === '') throw invalid('requestId', 'a text', requestId);
}
