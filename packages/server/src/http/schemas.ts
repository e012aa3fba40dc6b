/** The schemas of the OpenAPI document: JSON Schema 2020-12, under `#/components/schemas`. */
import { algorithmNames } from 'sluice';
import { mostExact } from './check-request.ts';

export function ref(name: keyof typeof schemas): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

const here = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const count = { type: 'number', minimum: 0 } as const;
const names = { type: 'array', items: text } as const;
const duration = {
  description: 'Milliseconds, or text such as "250ms", "10s", "1m", "1h", "1d", "1w".',
  oneOf: [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'string', pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d|w)$' },
  ],
} as const;
const orNever = (description: string) => ({ description, type: ['integer', 'null'], minimum: 0 }) as const;

const cost = {
  description: 'How much of the quota the call takes. 0 asks without taking.',
  type: 'number',
  minimum: 0,
  default: 1,
} as const;
const id = {
  description: 'A call made again with the same id gets the same answer, and is not counted twice.',
  type: 'string',
  minLength: 1,
} as const;
const key = { description: 'Who is limited.', type: 'string', minLength: 1 } as const;

const problemMembers = {
  type: text,
  title: text,
  status: { type: 'integer' },
  detail: { description: 'What is wrong: the field, the value it got, the way out.', type: 'string' },
  position: { description: 'Where a body stops being JSON, counted in characters from 0.', type: 'integer' },
} as const;

const decisionMembers = {
  allowed: flag,
  limit: { description: 'The most that could ever pass at once.', ...count },
  remaining: { description: 'What would pass right now, after this call.', ...count },
  retryAfterMs: orNever(
    '0 when allowed; else the shortest wait after which the same call would pass. null: waiting never helps.',
  ),
  resetAfterMs: orNever('Until the key is as good as new.'),
  delayMs: { description: 'Yes, but wait this long (shaping algorithms).', ...count },
  rule: text,
  policy: here('Policy'),
  reason: {
    description: 'Why not; only on a refusal.',
    enum: ['limit', 'blocked', 'store-full', 'store-failure', 'quarantine', 'too-many-waiters', 'max-wait'],
  },
  shadow: { description: 'A shadow rule: reported, never enforced.', const: true },
  degraded: { description: 'The store did not answer, and this was done instead.', enum: ['closed', 'open', 'local'] },
  remembered: { const: true },
} as const;

const decisionRequired = [
  'allowed',
  'limit',
  'remaining',
  'retryAfterMs',
  'resetAfterMs',
  'delayMs',
  'rule',
  'policy',
] as const;

const resultMembers = {
  allowed: flag,
  tightest: {
    description: 'The decision that refused, else the one with the smallest share left. null when no rule applied.',
    oneOf: [here('Decision'), { type: 'null' }],
  },
  decisions: { description: 'One for each rule that applied.', type: 'array', items: here('Decision') },
  list: { description: 'A list decided, and no rule was asked.', enum: ['allow', 'deny'] },
} as const;

const resultRequired = ['allowed', 'tightest', 'decisions'] as const;

const refusalMembers = {
  ...problemMembers,
  'violated-policies': { description: 'As the RateLimit-Policy header names them.', ...names },
} as const;
const refusalRequired = ['type', 'title', 'status', 'detail', 'violated-policies'] as const;

function closed(properties: object, required: readonly string[]) {
  return { type: 'object', properties, required, additionalProperties: false } as const;
}

/** Nothing is missing, and nothing else is there. */
function whole(properties: object) {
  return closed(properties, Object.keys(properties));
}

const refusedKeys = {
  description: 'The most refused first. A count may be too high by at most `error`, never too low.',
  type: 'array',
  items: whole({ rule: text, key: text, refusals: count, error: count }),
} as const;

const counts = { type: 'array', items: count } as const;
const shards = { type: 'array', items: { type: 'integer', minimum: -1 } } as const;

export const schemas = {
  Policy: {
    description: 'How much may pass in how long, and by which algorithm. Algorithms have further options.',
    type: 'object',
    properties: {
      algorithm: { enum: algorithmNames },
      limit: { type: 'number', exclusiveMinimum: 0 },
      window: duration,
      burst: count,
    },
    required: ['algorithm', 'limit'],
  },
  Subject: {
    description: 'What is known of a request. Rules read their keys from it, and say by it whether they apply.',
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'], minimum: -mostExact, maximum: mostExact },
  },
  SubjectCheck: closed({ subject: here('Subject'), cost, id }, ['subject']),
  PolicyCheck: closed({ policy: here('Policy'), key, cost, id }, ['policy', 'key']),
  Check: { oneOf: [here('SubjectCheck'), here('PolicyCheck')] },
  Batch: closed({ items: { type: 'array', items: here('Check') } }, ['items']),
  Decision: closed(decisionMembers, decisionRequired),
  RulesResult: closed(resultMembers, resultRequired),
  Allowed: {
    description: 'The decision of the policy, or what the rules said.',
    oneOf: [here('Decision'), here('RulesResult')],
  },
  Refused: {
    description: 'The same, beside problem details that name the violated policies.',
    oneOf: [
      closed({ ...refusalMembers, ...decisionMembers }, [...refusalRequired, ...decisionRequired]),
      closed({ ...refusalMembers, ...resultMembers }, [...refusalRequired, ...resultRequired]),
    ],
  },
  BatchResult: closed(
    {
      results: {
        description: 'One for each item, in their order, each with the status it would have had alone.',
        type: 'array',
        items: {
          oneOf: [
            closed({ status: { const: 200 }, ...decisionMembers }, ['status', ...decisionRequired]),
            closed({ status: { const: 200 }, ...resultMembers }, ['status', ...resultRequired]),
            here('Refused'),
            here('Problem'),
          ],
        },
      },
    },
    ['results'],
  ),
  Problem: { description: 'RFC 9457.', ...closed(problemMembers, ['type', 'title', 'status', 'detail']) },
  Rules: closed(
    { rules: { description: 'As they are written in the configuration.', type: 'array', items: { type: 'object' } } },
    ['rules'],
  ),
  Override: {
    description: 'What is different for one key; at least one of limit, window and burst.',
    ...closed(
      { limit: { type: 'number', exclusiveMinimum: 0 }, window: duration, burst: count, expiresIn: duration },
      [],
    ),
  },
  ActiveOverride: closed(
    {
      rule: text,
      key: { description: 'As the rule knows it: IPv6 addresses count by their network.', ...text },
      givenKey: { description: 'As it was given, where that was another way to write it.', ...text },
      override: here('Override'),
      expiresAtMs: { description: 'Milliseconds since the epoch; null when it has no end.', type: ['number', 'null'] },
    },
    ['rule', 'key', 'override', 'expiresAtMs'],
  ),
  Overrides: closed({ overrides: { type: 'array', items: here('ActiveOverride') } }, ['overrides']),
  KeyState: closed(
    {
      rule: text,
      key: text,
      decision: {
        description: 'What a check of cost 1 would be answered now. Nothing was taken.',
        ...here('Decision'),
      },
      override: here('ActiveOverride'),
    },
    ['rule', 'key', 'decision'],
  ),
  RefusedKeys: closed({ keys: refusedKeys }, ['keys']),
  Status: {
    description: 'Counts grow from the start on; a rate is the difference of two.',
    ...whole({
      kind: { enum: ['service', 'gateway'] },
      version: text,
      atMs: { description: 'Milliseconds since the epoch.', ...count },
      startedAtMs: count,
      isReady: flag,
      notReadyBecause: { type: ['string', 'null'] },
      rules: {
        description: 'The configured ones, and what is counted beside them.',
        type: 'array',
        items: whole({
          name: text,
          isConfigured: flag,
          allowed: count,
          refused: count,
          shadowRefused: count,
          errors: count,
        }),
      },
      durations: whole({
        boundsMs: counts,
        counts: { description: 'Checks that did not exceed each bound; then those that exceeded all.', ...counts },
        sumMs: count,
      }),
      topRefused: refusedKeys,
      store: whole({
        type: text,
        keys: { description: 'null: the store does not know.', type: ['integer', 'null'], minimum: 0 },
        errors: count,
        degraded: count,
        evictedLiveKeys: count,
      }),
      cluster: { description: 'null: this is no node of a cluster.', oneOf: [here('ClusterStatus'), { type: 'null' }] },
      upstreams: {
        description: "The gateway's; empty for a service.",
        type: 'array',
        items: whole({
          name: text,
          members: {
            type: 'array',
            items: whole({
              id: text,
              circuit: { enum: ['closed', 'open', 'half-open', 'none'] },
              isUsable: flag,
              inFlight: count,
            }),
          },
        }),
      },
      revision: {
        description: 'Numbers that grow when the rules, or the overrides, may be others than before.',
        ...whole({ rules: count, overrides: count }),
      },
    }),
  },
  ClusterStatus: whole({
    revision: { description: 'Of the slot table; it grows.', ...count },
    members: {
      type: 'array',
      items: whole({ id: text, address: text, isSelf: flag, isLeaving: flag }),
    },
    owners: { description: 'For each shard a place in `members`; -1: nobody.', ...shards },
    standbys: shards,
  }),
  ReloadReport: closed(
    { isApplied: flag, problems: names, needsRestart: names, added: names, changed: names, removed: names },
    ['isApplied', 'problems', 'needsRestart', 'added', 'changed', 'removed'],
  ),
  ReloadRefused: closed(
    {
      ...problemMembers,
      isApplied: { const: false },
      problems: names,
      needsRestart: names,
      added: names,
      changed: names,
      removed: names,
    },
    ['type', 'title', 'status', 'detail', 'isApplied', 'problems'],
  ),
  Health: closed({ status: { const: 'ok' } }, ['status']),
  EnvoyRequest: {
    description: 'envoy.service.ratelimit.v3.RateLimitRequest as proto3 JSON.',
    type: 'object',
    properties: {
      domain: text,
      descriptors: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            entries: { type: 'array', items: { type: 'object', properties: { key: text, value: text } } },
            limit: { type: 'object', properties: { requestsPerUnit: { type: 'integer', minimum: 0 }, unit: text } },
            hitsAddend: { type: ['integer', 'string'] },
          },
        },
      },
      hitsAddend: { type: ['integer', 'string'] },
    },
    required: ['domain', 'descriptors'],
  },
  EnvoyResponse: {
    description: 'envoy.service.ratelimit.v3.RateLimitResponse as proto3 JSON.',
    type: 'object',
    properties: {
      overallCode: { enum: ['OK', 'OVER_LIMIT'] },
      statuses: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            code: { enum: ['OK', 'OVER_LIMIT'] },
            currentLimit: {
              type: 'object',
              properties: { requestsPerUnit: { type: 'integer' }, unit: text, name: text },
            },
            limitRemaining: { type: 'integer', minimum: 0 },
            durationUntilReset: { description: 'Seconds.', type: 'string', pattern: '^\\d+(\\.\\d+)?s$' },
          },
          required: ['code'],
        },
      },
    },
    required: ['overallCode'],
  },
} as const;
