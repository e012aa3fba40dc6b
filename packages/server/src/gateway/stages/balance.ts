/** Which member of the upstream takes it? Never one that was tried, unless all were. */
import { answerProblem, Problem, retryAfter } from '../answer-problem.ts';
import type { Passage, Step } from '../passage.ts';
import { problemTypeOfCapacity } from './capacity-problem.ts';

export function balance(passage: Passage): Step {
  const { pool } = passage.route!;
  const key = pool.keyOf(passage);
  let picked = pool.pick(key, passage.leftOut);
  if (picked === undefined && passage.attempts > passage.roundBegan) {
    // A retry that has no other member left may go to one that was tried: where there is only one, it is the only hope.
    passage.roundBegan = passage.attempts;
    passage.leftOut = undefined;
    picked = pool.pick(key, undefined);
  }
  if (picked === undefined) return nobody(passage);
  passage.picked = picked;
  return 'next';
}

function nobody(passage: Passage): Step {
  const { exchange, failure } = passage;
  const { pool } = passage.route!;
  if (failure !== undefined) {
    answerProblem(exchange, new Problem(failure.status, failure.detail));
    return 'report';
  }
  passage.refusal = 'no-member';
  answerProblem(
    exchange,
    new Problem(503, 'Nobody can take the request at the moment. Try again later.', {
      headers: retryAfter(pool.retryAfterMs()),
      members: problemTypeOfCapacity,
    }),
  );
  return 'report';
}
