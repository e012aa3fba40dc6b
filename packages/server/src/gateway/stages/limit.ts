/** Do the rules allow it? And where they say "yes, but later", it waits here. */
import type { RulesResult } from 'sluice';
import { problemBody, type RateLimitHeaders, rateLimitHeaders, statusOf } from 'sluice/http';
import type { Answer } from '../../service/service.ts';
import { answerProblemText } from '../answer-problem.ts';
import type { Passage, Step } from '../passage.ts';

export function limit(passage: Passage): Answer<Step> {
  const { limits } = passage.plan;
  if (limits === undefined) return 'next';
  const { maxDelayMs } = passage.route!.config;
  const asked = limits.check(passage.subject, { maxDelayMs });
  return asked instanceof Promise ? asked.then((result) => goOn(passage, result)) : goOn(passage, asked);
}

function goOn(passage: Passage, result: RulesResult): Answer<Step> {
  passage.limits = result;
  if (!result.allowed) return refuse(passage, result);
  const { limits, leases } = passage.plan;
  passage.leased = leases.begin(limits!, result);
  const delayMs = delayOf(result);
  return delayMs === 0 ? 'next' : delay(passage, delayMs);
}

function refuse(passage: Passage, result: RulesResult): Step {
  const status = statusOf(result);
  passage.refusal = status === 503 ? 'store' : 'limit';
  answerProblemText(passage.exchange, status, limitHeaders(result), JSON.stringify(problemBody(result)));
  return 'report';
}

async function delay(passage: Passage, delayMs: number): Promise<Step> {
  const { signal } = passage;
  passage.delayedMs = delayMs;
  try {
    await passage.plan.clock.sleep(delayMs, signal);
    return 'next';
  } catch (error) {
    if (!signal.aborted) throw error;
    // The client has left, and nobody waits for an answer.
    return 'report';
  }
}

/** The longest of the delays that rules ask for. */
function delayOf({ decisions }: RulesResult): number {
  let longestMs = 0;
  for (const { delayMs, shadow } of decisions) if (delayMs > longestMs && !shadow) longestMs = delayMs;
  return longestMs;
}

/** The headers that tell the client where it stands, in lower case as HTTP/2 wants them. */
export function limitHeaders(result: RulesResult): string[] {
  const headers: RateLimitHeaders = rateLimitHeaders(result);
  const list: string[] = [];
  for (const name in headers) list.push(lowerCase(name), headers[name] as string);
  return list;
}

/**
 * Whether a header says where a client stands, in whichever of the dialects. `Retry-After` does not: on an answer that a member gave it is
 * about the member.
 */
export function isLimitHeader(name: string): boolean {
  return name.startsWith('x-ratelimit-') || name === 'ratelimit' || name.startsWith('ratelimit-');
}

// A handful of names, asked for with every answer.
const inLowerCase = new Map<string, string>();

function lowerCase(name: string): string {
  const known = inLowerCase.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  inLowerCase.set(name, lower);
  return lower;
}
