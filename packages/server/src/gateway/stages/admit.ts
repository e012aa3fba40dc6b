/** Is there a place for it among those under way, or will there be one soon? Who is how important, and whose turn it is, the admission knows. */

import type { Answer } from '../../service/service.ts';
import type { Admitted, Refused } from '../admission/admission-types.ts';
import { answerProblem, Problem, retryAfter } from '../answer-problem.ts';
import type { Passage, Step } from '../passage.ts';
import type { Admittance } from '../plan.ts';
import { problemTypeOfCapacity } from './capacity-problem.ts';

export function admit(passage: Passage): Answer<Step> {
  const { admittance, config } = passage.route!;
  if (admittance === undefined) return 'next';
  const { request } = passage.exchange;
  passage.tenant = admittance.tenantOf?.(request, passage.subject) ?? '';
  passage.priority = priorityOf(passage, admittance) ?? config.priority;
  const entered = admittance.admission.enter(passage);
  return entered instanceof Promise ? entered.then((answer) => goOn(passage, answer)) : goOn(passage, entered);
}

/** What the request says of itself, where it is asked: a word of the configuration, or a digit. */
function priorityOf(passage: Passage, { priorityOf: read, priorities }: Admittance): number | undefined {
  const said = read?.(passage.exchange.request, passage.subject);
  if (said === undefined) return undefined;
  if (Object.hasOwn(priorities, said)) return priorities[said];
  return /^\d$/.test(said) ? Number(said) : undefined;
}

function goOn(passage: Passage, answer: Admitted | Refused): Step {
  if (answer.isAdmitted) {
    passage.admitted = answer;
    return 'next';
  }
  // It waited, and has left: nobody refused it.
  if (answer.reason === 'gone') return 'report';
  passage.refusal = 'admission';
  answerProblem(
    passage.exchange,
    new Problem(503, 'Too many requests are under way. Try again later.', {
      headers: retryAfter(answer.retryAfterMs),
      members: problemTypeOfCapacity,
    }),
  );
  return 'report';
}
