/** Answers of the gateway's own: problem details (RFC 9457), as everywhere in Sluice. */
import { Problem, problemMembers } from '../http/problem.ts';
import { problemType } from '../http/reply.ts';
import type { Exchange } from './exchange.ts';
import type { HeaderList } from './wire/message.ts';

export function answerProblem(exchange: Exchange, problem: Problem): void {
  const headers = problem.headers.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text));
  answerProblemText(exchange, problem.status, headers, JSON.stringify(problemMembers(problem)));
}

/** Whoever has left, or has a part of another answer already, gets none. */
export function answerProblemText(exchange: Exchange, status: number, headers: HeaderList, body: string): void {
  if (exchange.isGone || exchange.status !== 0) return;
  // What the gateway says is about this moment: nobody may keep it.
  exchange.answerWhole(
    { status, headers: ['content-type', problemType, 'cache-control', 'no-store', ...headers] },
    body,
  );
}

/** In whole seconds, rounded up, and at least one: with 0 a client would come back at once. Empty where waiting does not help. */
export function retryAfter(ms: number): readonly string[] {
  return Number.isFinite(ms) ? ['retry-after', String(Math.max(1, Math.ceil(ms / 1000)))] : [];
}

export { Problem };
