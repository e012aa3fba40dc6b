/**
 * A request that is sent again gets the answer it got the first time. Remembered for the whole node, not by shard, so that a thousand shards do
 * not each remember as much as they may. The caller counts a grant's age from when it first sent the request, so an answer that is given again is
 * no younger for it.
 */
import type { Check, Decision } from 'sluice';
import type { Answer } from '../service/service.ts';

const generationMs = 10_000;
const mostAnswers = 50_000;

export class RememberedAnswers {
  private young = new Map<string, Answer<Decision[]>>();
  private old = new Map<string, Answer<Decision[]>>();
  private turnedMs = Number.NEGATIVE_INFINITY;

  /** The answer to this request, made now or before. */
  once(requestId: string, checks: readonly Check[], nowMs: number, make: () => Answer<Decision[]>): Answer<Decision[]> {
    if (nowMs - this.turnedMs > generationMs || this.young.size >= mostAnswers) {
      this.old = nowMs - this.turnedMs > 2 * generationMs ? new Map() : this.young;
      this.young = new Map();
      this.turnedMs = nowMs;
    }
    const id = textOf(requestId, checks);
    const known = this.young.get(id) ?? this.old.get(id);
    if (known !== undefined) return known;
    const answer = make();
    this.young.set(id, answer);
    // What failed was not answered: it may be tried again.
    if (answer instanceof Promise) answer.catch(() => [this.young, this.old].some((answers) => answers.delete(id)));
    return answer;
  }
}

/** The same id with anything else in it is another request. */
function textOf(requestId: string, checks: readonly Check[]): string {
  return JSON.stringify([
    requestId,
    ...checks.map(({ name, key, policy, cost, operation, actual, receipt }) => [
      name,
      key,
      policy,
      cost,
      operation,
      actual,
      receipt,
    ]),
  ]);
}
