/** The gateway's own answer where no attempt is left: what became of the last one. */
import { answerProblem, Problem, retryAfter } from '../answer-problem.ts';
import type { Failure, Passage } from '../passage.ts';
import { problemTypeOfCapacity } from './capacity-problem.ts';

export function answerFailure(passage: Passage, { status, detail, retryAfterMs }: Failure): void {
  if (retryAfterMs === undefined) {
    answerProblem(passage.exchange, new Problem(status, detail));
    return;
  }
  passage.refusal = 'no-member';
  const headers = retryAfter(retryAfterMs);
  answerProblem(passage.exchange, new Problem(status, detail, { headers, members: problemTypeOfCapacity }));
}
