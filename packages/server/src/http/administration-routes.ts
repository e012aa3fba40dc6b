/** Administration: rules, overrides, single keys, who is refused most, reading the configuration again. */
import type { Override } from 'sluice';
import { andThen } from '../service/answer.ts';
import type { Answer, ReloadReport } from '../service/service.ts';
import { objectOf } from './check-request.ts';
import { percentDecoded } from './percent-decoded.ts';
import { Problem, shown } from './problem.ts';
import { readJson, textOf } from './read-json.ts';
import { emptyReply, jsonReply, jsonType, problemType, type Reply } from './reply.ts';
import type { Call, Parameter, Route } from './route.ts';
import { ref } from './schemas.ts';

const rule: Parameter = {
  in: 'path',
  description: "The rule's name.",
  schema: { type: 'string' },
  example: 'per-user',
};

const ofKey: Readonly<Record<string, Parameter>> = {
  rule,
  key: {
    in: 'path',
    description: 'The key, percent-encoded. Keys of several fields are joined with |.',
    schema: { type: 'string' },
    example: '42',
  },
};

const tier: Parameter = {
  in: 'query',
  description: "Which of the rule's tiers. Default: as for a subject without a tier.",
  schema: { type: 'string' },
  example: 'paid',
};

const noSuchRule = { description: 'There is no such rule.', type: problemType, schema: ref('Problem') } as const;

/** Goes on only if the rule is there: a name in a path that leads nowhere is a 404. */
function withRule(
  call: Call,
  next: (rule: string, key: string) => Answer<Reply>,
  besideKey: readonly string[] = [],
): Answer<Reply> {
  const [name] = call.parameters as [string];
  const key = namedKey(call, besideKey);
  return andThen(call.service.ruleData(), (data) => {
    const names = data.map((one) => String(one.name));
    if (names.includes(name)) return next(name, key);
    throw new Problem(
      404,
      `There is no rule ${shown(name)}. There ${names.length === 0 ? 'are none' : `are ${names.join(', ')}`}.`,
    );
  });
}

/**
 * The same with the key after the question mark. Whatever reads URLs takes `.` and `..` in a path for steps through folders, encoded or not,
 * so that keys of these names cannot be said there.
 */
export function byQuery(route: Route): Route {
  const { operationId, summary } = route.operation;
  return {
    ...route,
    path: route.path.replace('/{key}', ''),
    operation: {
      ...route.operation,
      operationId: `${operationId}ByQuery`,
      summary: `The same with ?key=, for any key: ${summary}`,
      parameters: {
        ...route.operation.parameters,
        key: { ...(ofKey.key as Parameter), in: 'query', isRequired: true, example: '..' },
      },
    },
  };
}

/** From the path, or else from the query, where there may be other parameters beside it. */
function namedKey(call: Call, besideKey: readonly string[]): string {
  const [, inPath] = call.parameters;
  const given = parameterOf(call, 'key');
  if (inPath !== undefined) {
    if (given === undefined) return inPath;
    throw new Problem(400, `The key is given twice: ${shown(inPath)} in the path, and in the query. Leave one out.`);
  }
  if (given === undefined)
    throw new Problem(400, 'The key is missing. Give it as the last part of the path, or as ?key=.');
  const known = ['key', ...besideKey];
  const other = fieldsOf(call).find((field) => !known.includes(nameOf(field)));
  if (other !== undefined)
    throw new Problem(400, `There is no query parameter ${shown(other)}. There is ${known.join(' and ')}.`);
  return given;
}

function fieldsOf({ query }: Call): string[] {
  return query.split('&').filter((field) => field !== '');
}

function nameOf(field: string): string {
  return field.split('=', 1)[0] as string;
}

/** One parameter of the query; undefined where it is not there. */
function parameterOf(call: Call, name: string): string | undefined {
  const [given, ...others] = fieldsOf(call).filter((field) => nameOf(field) === name);
  if (given === undefined) return undefined;
  if (others.length > 0)
    throw new Problem(400, `${name} is given ${others.length + 1} times in the query. Give it once.`);
  // As forms write it, a plus is a blank.
  const encoded = given.slice(name.length + 1).replaceAll('+', '%20');
  if (encoded === '') throw new Problem(400, `${name} must be text, got "".`);
  return percentDecoded(encoded, { name, place: 'query', keyBytes: call.limits.keyBytes });
}

export const listRules: Route = {
  method: 'GET',
  path: '/v1/rules',
  area: 'administration',
  operation: {
    operationId: 'listRules',
    summary: 'The configured rules.',
    tag: 'administration',
    responses: { 200: { description: 'The rules, as they were written.', type: jsonType, schema: ref('Rules') } },
  },
  answer: ({ service }) => andThen(service.ruleData(), (rules) => jsonReply({ rules })),
};

export const listOverrides: Route = {
  method: 'GET',
  path: '/v1/overrides',
  area: 'administration',
  operation: {
    operationId: 'listOverrides',
    summary: 'Keys that have limits of their own.',
    tag: 'administration',
    responses: { 200: { description: 'Those that apply now.', type: jsonType, schema: ref('Overrides') } },
  },
  answer: ({ service }) => andThen(service.overrides(), (overrides) => jsonReply({ overrides })),
};

export const putOverride: Route = {
  method: 'PUT',
  path: '/v1/overrides/{rule}/{key}',
  area: 'administration',
  body: 'json',
  operation: {
    operationId: 'putOverride',
    summary: 'Another limit for one key, from the next check on. What was used stays used.',
    tag: 'administration',
    parameters: ofKey,
    request: { schema: ref('Override'), examples: { generous: { limit: 5000, window: '1m', expiresIn: '1h' } } },
    responses: { 204: { description: 'It applies.' }, 404: noSuchRule },
  },
  answer(call) {
    const override = overrideOf(readJson(textOf(call.body)));
    return withRule(call, (name, key) => andThen(call.service.override(name, key, override), () => emptyReply));
  },
};

const overrideFields = ['limit', 'window', 'burst', 'expiresIn'];

/** The fields; their values are checked by the rule's algorithm. */
function overrideOf(data: unknown): Override {
  const list = overrideFields.join(', ');
  const override = objectOf('An override', data, list);
  const other = Object.keys(override).find((field) => !overrideFields.includes(field));
  if (other !== undefined) throw new Problem(400, `An override has no field ${shown(other)}. It takes ${list}.`);
  return override as Override;
}

export const deleteOverride: Route = {
  method: 'DELETE',
  path: '/v1/overrides/{rule}/{key}',
  area: 'administration',
  operation: {
    operationId: 'deleteOverride',
    summary: "The rule's own limit applies again.",
    tag: 'administration',
    parameters: ofKey,
    responses: {
      204: { description: 'It is gone.' },
      404: { ...noSuchRule, description: 'There is no such rule, or no override of that key.' },
    },
  },
  answer: (call) =>
    withRule(call, (name, key) =>
      andThen(call.service.removeOverride(name, key), (wasThere) => {
        if (wasThere) return emptyReply;
        throw new Problem(
          404,
          `Rule ${shown(name)} has no override of the key ${shown(key)}. GET /v1/overrides lists them.`,
        );
      }),
    ),
};

export const inspectKey: Route = {
  method: 'GET',
  path: '/v1/keys/{rule}/{key}',
  area: 'administration',
  operation: {
    operationId: 'inspectKey',
    summary: 'Where a key stands. Nothing is taken.',
    tag: 'administration',
    parameters: { ...ofKey, tier },
    responses: {
      200: { description: 'What a check would be answered now.', type: jsonType, schema: ref('KeyState') },
      404: noSuchRule,
    },
  },
  answer: (call) =>
    withRule(
      call,
      (name, key) =>
        andThen(call.service.inspect(name, key, parameterOf(call, 'tier')), (state) =>
          jsonReply({ ...state, decision: decisionData(state.decision) }),
        ),
      ['tier'],
    ),
};

export const resetKey: Route = {
  method: 'DELETE',
  path: '/v1/keys/{rule}/{key}',
  area: 'administration',
  operation: {
    operationId: 'resetKey',
    summary: 'Forgets what a key has used, and its block.',
    tag: 'administration',
    parameters: ofKey,
    responses: {
      200: { description: 'The key is as good as new.', type: jsonType, schema: ref('KeyState') },
      404: noSuchRule,
    },
  },
  answer: (call) =>
    withRule(call, (name, key) =>
      andThen(call.service.reset(name, key), (decision) =>
        jsonReply({ rule: name, key, decision: decisionData(decision) }),
      ),
    ),
};

/** Without receipts, which mean something in the process only. */
function decisionData<T extends object>({ receipt: _, ...decision }: T & { readonly receipt?: unknown }) {
  return decision;
}

const mostRefused = { default: 20, most: 1000 };

export const topRefused: Route = {
  method: 'GET',
  path: '/v1/refused',
  area: 'administration',
  operation: {
    operationId: 'topRefused',
    summary: 'The keys that were refused most, lately.',
    tag: 'administration',
    parameters: {
      most: {
        in: 'query',
        description: 'How many.',
        schema: { type: 'integer', minimum: 1, maximum: mostRefused.most, default: mostRefused.default },
        example: 10,
      },
    },
    responses: { 200: { description: 'Counted by a sketch.', type: jsonType, schema: ref('RefusedKeys') } },
  },
  answer: ({ service, query }) => andThen(service.topRefused(mostOf(query)), (keys) => jsonReply({ keys })),
};

function mostOf(query: string): number {
  const parameters = new URLSearchParams(query);
  const other = [...parameters.keys()].find((name) => name !== 'most');
  if (other !== undefined) throw new Problem(400, `There is no query parameter ${shown(other)}. There is most.`);
  const given = parameters.get('most');
  const most = given === null ? mostRefused.default : Number(given);
  if (Number.isInteger(most) && most >= 1 && most <= mostRefused.most && given?.trim() !== '') return most;
  throw new Problem(400, `most must be a whole number from 1 to ${mostRefused.most}, got ${shown(given)}.`);
}

export const reload: Route = {
  method: 'POST',
  path: '/v1/reload',
  area: 'administration',
  operation: {
    operationId: 'reload',
    summary: 'Reads the configuration again.',
    tag: 'administration',
    responses: {
      200: { description: 'It applies.', type: jsonType, schema: ref('ReloadReport') },
      422: { description: 'It is wrong, and the old one stays.', type: problemType, schema: ref('ReloadRefused') },
    },
  },
  answer: ({ service }) => andThen(service.reload(), reloadReply),
};

function reloadReply(report: ReloadReport): Reply {
  if (report.isApplied) return jsonReply(report);
  throw new Problem(422, `The configuration is wrong, and the old one stays. ${report.problems.join(' ')}`, {
    members: { ...report },
  });
}
