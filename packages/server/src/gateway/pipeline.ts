/**
 * The gateway. Each request goes through these stages; a stage that refuses it answers it, and sends it to the report.
 *
 *      client ──► identify ──► limit ──► admit ──► receive ──► balance ──► break ──► forward ──► report
 *                    │           │         │                      ▲  │        │         │           ▲
 *                    │           │         │                      └──┼────────┴─ again ─┘           │
 *                    └─ 404 ─────┴─ 429 ───┴─ 503 ───────────────────┴─ 503 ──────────── 502, 504 ──┘
 *
 * `again` is another member: the circuit of this one is open, or it failed and nothing is lost by asking another.
 */
import { answerProblem, Problem } from './answer-problem.ts';
import type { Passage, Stage, Step } from './passage.ts';
import { admit } from './stages/admit.ts';
import { balance } from './stages/balance.ts';
import { breakCircuit } from './stages/break-circuit.ts';
import { forward } from './stages/forward.ts';
import { identify } from './stages/identify.ts';
import { limit } from './stages/limit.ts';
import { receive } from './stages/receive.ts';
import { report } from './stages/report.ts';

export const pipeline: readonly Stage[] = [
  identify, //     which route, and who asks?
  limit, //        do the rules allow it, and must it wait?
  admit, //        is there a place for it, or will there be?
  receive, //      is enough of its body here?
  balance, //      which member of the upstream?
  breakCircuit, // may that one be asked?
  forward, //      there and back, as it comes
  report, //       what became of it: to those who gave it a place, to the metrics, to the log
];

const again = pipeline.indexOf(balance);
const reporting = pipeline.indexOf(report);

/** Takes a request through the stages. Where no stage has to wait, neither does the request: no promise is made. */
export function pass(passage: Passage, from = 0): void {
  let at = from;
  while (at < pipeline.length) {
    const stage = at;
    const step = stepOf(passage, stage);
    if (step instanceof Promise) {
      void step.then(
        (later) => pass(passage, following(passage, stage, later)),
        (error) => pass(passage, following(passage, stage, failed(passage, error))),
      );
      return;
    }
    at = following(passage, stage, step);
  }
}

function stepOf(passage: Passage, at: number): Step | Promise<Step> {
  try {
    return (pipeline[at] as Stage)(passage);
  } catch (error) {
    return failed(passage, error);
  }
}

function following(passage: Passage, at: number, step: Step): number {
  // The report is the end, whatever came of it.
  if (at === reporting) return pipeline.length;
  if (step === 'report' || passage.exchange.isGone) return reporting;
  return step === 'again' ? again : at + 1;
}

/** What is wrong with a request is thrown as a `Problem`; everything else is a mistake of ours. */
function failed(passage: Passage, error: unknown): Step {
  const isOurs = !(error instanceof Problem);
  if (isOurs) passage.plan.log.error({ err: error, route: passage.route?.config.name }, 'a request failed');
  else passage.refusal ??= 'bad-request';
  answerProblem(
    passage.exchange,
    isOurs ? new Problem(500, 'The gateway failed at this request. Its log says why.') : error,
  );
  return 'report';
}
