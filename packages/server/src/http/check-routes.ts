/** Checks: of the configured rules by subject, of a policy that comes along, many at once, and as Envoy's `/json` asks. */
import type { Decision, RulesResult } from 'sluice';
import { requestFromJson, responseToJson } from '../envoy/json-form.ts';
import { andThen } from '../service/answer.ts';
import type { Answer } from '../service/service.ts';
import { policyItem, policyReply, rulesItem, rulesReply } from './check-reply.ts';
import { objectOf, readCheckRequest } from './check-request.ts';
import { Problem, problemMembers, problemOf, shown } from './problem.ts';
import { readJson, textOf } from './read-json.ts';
import { jsonReply, jsonType, problemType, type Reply } from './reply.ts';
import type { Call, Route } from './route.ts';
import { ref } from './schemas.ts';

const unsure = 'The store cannot tell, and the rule fails closed; or the service is overloaded.';

const checkExamples = {
  subject: { subject: { user: '42', ip: '203.0.113.9', path: '/upload', tier: 'paid' }, cost: 1 },
  policy: { policy: { algorithm: 'gcra', limit: 100, window: '1m', burst: 20 }, key: '42', cost: 1 },
} as const;

export const check: Route = {
  method: 'POST',
  path: '/v1/check',
  area: 'both',
  body: 'json',
  operation: {
    operationId: 'check',
    summary: 'May this request go?',
    tag: 'checks',
    request: { schema: ref('Check'), examples: checkExamples },
    responses: {
      200: { description: 'Allowed, and counted.', type: jsonType, schema: ref('Allowed'), hasRateLimitHeaders: true },
      429: {
        description: 'Refused by a limit. Nothing was counted.',
        type: problemType,
        schema: ref('Refused'),
        hasRateLimitHeaders: true,
      },
      503: {
        description: unsure,
        type: problemType,
        schema: { anyOf: [ref('Refused'), ref('Problem')] },
        hasRateLimitHeaders: true,
      },
    },
  },
  answer(call) {
    return ask(readJson(textOf(call.body)), call, rulesReply, policyReply);
  },
};

/** Asks the service what one check asks, and hands its answer to the writer that fits. */
function ask<T>(
  data: unknown,
  { service, limits, trace }: Call,
  ofRules: (result: RulesResult) => T,
  ofPolicy: (decision: Decision) => T,
): Answer<T> {
  const request = readCheckRequest(data, limits, trace);
  return 'subject' in request
    ? andThen(service.check(request.subject, request.call), ofRules)
    : andThen(service.checkPolicy(request.policy, request.key, request.call), ofPolicy);
}

export const checkBatch: Route = {
  method: 'POST',
  path: '/v1/check/batch',
  area: 'both',
  body: 'json',
  operation: {
    operationId: 'checkBatch',
    summary: 'Many checks at once, each on its own: one that is refused or wrong does not touch the others.',
    tag: 'checks',
    request: { schema: ref('Batch'), examples: { two: { items: [checkExamples.subject, checkExamples.policy] } } },
    responses: {
      200: { description: 'One result for each item.', type: jsonType, schema: ref('BatchResult') },
    },
  },
  answer(call) {
    const items = itemsOf(readJson(textOf(call.body)), call.limits.batchItems);
    const results = items.map((item) => itemResult(item, call));
    return results.some((result) => result instanceof Promise)
      ? Promise.all(results).then(batchReply)
      : batchReply(results as string[]);
  },
};

function itemsOf(data: unknown, most: number): readonly unknown[] {
  const { items, ...others } = objectOf('A batch', data, 'items');
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Problem(400, `A batch has no field ${shown(other)}. It takes items.`);
  if (!Array.isArray(items)) throw new Problem(400, `items must be a list of checks, got ${shown(items)}.`);
  if (items.length > most)
    throw new Problem(400, `items must be at most ${most} checks, got ${items.length}. Send them in several batches.`);
  return items;
}

function itemResult(item: unknown, call: Call): Answer<string> {
  try {
    const answer = ask(item, call, rulesItem, policyItem);
    return answer instanceof Promise ? answer.catch(failedItem) : answer;
  } catch (error) {
    return failedItem(error);
  }
}

/** What is wrong with one item is its own; what nobody foresaw is everyone's. */
function failedItem(error: unknown): string {
  const problem = problemOf(error);
  if (problem === undefined) throw error;
  return JSON.stringify(problemMembers(problem));
}

function batchReply(results: readonly string[]): Reply {
  return { status: 200, type: jsonType, body: `{"results":[${results.join(',')}]}`, headers: [] };
}

export const envoyJson: Route = {
  method: 'POST',
  path: '/json',
  area: 'checks',
  // Whatever its content type, as envoyproxy/ratelimit takes it.
  body: 'any',
  operation: {
    operationId: 'envoyJson',
    summary: "Envoy's rate limit question as proto3 JSON, as envoyproxy/ratelimit has it.",
    tag: 'checks',
    request: {
      schema: ref('EnvoyRequest'),
      examples: { one: { domain: 'mongo_cps', descriptors: [{ entries: [{ key: 'database', value: 'users' }] }] } },
    },
    responses: {
      200: { description: 'OK', type: jsonType, schema: ref('EnvoyResponse') },
      429: { description: 'OVER_LIMIT', type: jsonType, schema: ref('EnvoyResponse') },
    },
  },
  answer({ service, body, trace }) {
    return andThen(service.shouldRateLimit(requestFromJson(readJson(textOf(body))), trace), (response) =>
      jsonReply(responseToJson(response), response.overallCode === 'OK' ? 200 : 429),
    );
  },
};
