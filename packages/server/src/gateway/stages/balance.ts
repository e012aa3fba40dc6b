/** Which member of the upstream takes it? Never one that was tried, unless all were. */
import type { Passage, Step } from '../passage.ts';
import { answerFailure } from './answer-failure.ts';

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
  answerFailure(
    passage,
    passage.failure ?? {
      status: 503,
      detail: 'Nobody can take the request at the moment. Try again later.',
      retryAfterMs: passage.route!.pool.retryAfterMs(),
    },
  );
  return 'report';
}
