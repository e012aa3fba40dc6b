/** From plain data, such as YAML gives, to a scenario; or to all that is wrong with it. */
import type { Traffic } from '../traffic.ts';
import { groupsOf } from './calls.ts';
import { type Claim, parseClaim } from './claim.ts';
import { parseLimit } from './parse-limit.ts';
import { checkOperations, parseOperations } from './parse-operations.ts';
import { parseProtect } from './parse-protect.ts';
import { parseSchedule } from './parse-schedule.ts';
import { checkIntervalMs, parseBalance, parseServers } from './parse-servers.ts';
import { parseService, parseTraffic } from './parse-traffic.ts';
import { type Data, isRecord, Problems } from './problems.ts';
import { mostArrivals, mostChecks, type Scenario, type Stages, type Variant } from './scenario.ts';

export interface ParseScenarioOptions {
  /** The calls of a recorded log, in the order of their times; throws where there is none. Default: shapes of kind `replay` are refused. */
  readonly readLog?: (path: string) => Traffic;
}

const stageNames = ['service', 'limit', 'schedule', 'servers', 'balance', 'protect', 'operations'] as const;
const fields = ['name', 'about', 'seed', 'duration', 'traffic', ...stageNames, 'compare', 'expect'];

const longestMs = 366 * 86_400_000;
const mostVariants = 50;
const mostClaims = 1000;
/** Of the library's retries, where nothing else is said. */
const usualAttempts = 3;

/** Throws a `ScenarioError` with everything that is wrong. */
export function parseScenario(data: unknown, options: ParseScenarioOptions = {}): Scenario {
  const problems = new Problems();
  const given = problems.record('', data, fields);
  if (!isRecord(data)) problems.throwIfAny();
  const durationMs = problems.duration('duration', given.duration);
  if (durationMs > longestMs) problems.wrong('duration', `at most ${longestMs} ms`, given.duration);
  const sources = parseTraffic(given.traffic, { problems, durationMs, readLog: options.readLog });
  const expectedCalls = sources.reduce((sum, each) => sum + (each.expectedCalls ?? 0), 0);
  const context = {
    problems,
    durationMs,
    expectedCalls,
    isServiceGiven: sources.every(({ service }) => service !== undefined),
    groups: groupsOf({ sources }),
  };
  if (expectedCalls > mostArrivals)
    problems.add('traffic', `comes to about ${Math.round(expectedCalls)} calls, and may be at most ${mostArrivals}.`);
  const common = parseStages(given, '', context);
  const variants = parseVariants(given.compare, common, context);
  const scenario: Scenario = {
    name: problems.text('name', given.name),
    about: given.about === undefined ? '' : problems.text('about', given.about).trim(),
    seed: given.seed === undefined ? 1 : problems.number('seed', given.seed, { max: 2 ** 53 - 1, isWhole: true }),
    durationMs,
    sources,
    variants,
    claims: parseClaims(given.expect, variants, problems),
  };
  problems.throwIfAny();
  return scenario;
}

interface Context {
  readonly problems: Problems;
  readonly durationMs: number;
  readonly expectedCalls: number;
  /** Every shape of the traffic says how long its calls take. */
  readonly isServiceGiven: boolean;
  readonly groups: readonly string[];
}

/** Those of the stages that are given; `null` says that there is none. */
function parseStages(data: Data, place: string, context: Context): Partial<Stages> {
  const { durationMs, problems } = context;
  const at = (field: string) => (place ? `${place}.${field}` : field);
  const read = {
    service: (value: unknown) => parseService(value, at('service'), problems),
    limit: (value: unknown) => parseLimit(value, at('limit'), problems),
    schedule: (value: unknown) => parseSchedule(value, at('schedule'), problems),
    servers: (value: unknown) => parseServers(value, at('servers'), durationMs, problems),
    balance: (value: unknown) => parseBalance(value, at('balance'), problems),
    protect: (value: unknown) => parseProtect(value, at('protect'), problems),
    operations: (value: unknown) => parseOperations(value, at('operations'), context),
  };
  const stages = stageNames
    .filter((name) => data[name] !== undefined)
    .map((name) => [name, data[name] === null ? undefined : read[name](data[name])]);
  return Object.fromEntries(stages);
}

const noStages: Stages = {
  service: undefined,
  limit: undefined,
  schedule: undefined,
  servers: undefined,
  balance: undefined,
  protect: undefined,
  operations: undefined,
};

function parseVariants(data: unknown, common: Partial<Stages>, context: Context): Variant[] {
  const { problems } = context;
  if (data === undefined) {
    const stages = { ...noStages, ...common };
    checkStages(stages, '', () => '', context);
    checkEvents(stages, () => '', context);
    return [{ name: defaultName(common) ?? 'run', stages }];
  }
  const list = problems.items('compare', data, 'a list of variants, such as - { name: strict, limit: { ... } }');
  if (Array.isArray(data) && (list.length === 0 || list.length > mostVariants))
    problems.add('compare', tooManyOrNone(list.length));
  const variants: Variant[] = [];
  for (const [i, each] of list.entries()) {
    const place = `compare[${i}]`;
    const { name, own } = parseVariant(each, place, context);
    const stages = { ...noStages, ...common, ...own };
    const placeOf: PlaceOf = (stage) => (Object.hasOwn(own, stage) ? `${place}.` : '');
    checkStages(stages, place, placeOf, context);
    checkEvents(stages, placeOf, context);
    variants.push({ name: uniqueName(name, own, variants, place, problems), stages });
  }
  return variants;
}

function tooManyOrNone(count: number): string {
  const wayOut = count === 0 ? ' Leave it out where there is nothing to compare.' : '';
  return `must have from 1 to ${mostVariants} variants, got ${count}.${wayOut}`;
}

function parseVariant(data: unknown, place: string, context: Context) {
  const { problems } = context;
  // A policy alone is the short form of a variant that has another limit.
  if (isRecord(data) && data.algorithm !== undefined) {
    const { name, ...policy } = data;
    return { name, own: { limit: parseLimit(policy, place, problems) } };
  }
  const fields = problems.record(place, data, ['name', ...stageNames]);
  return { name: fields.name, own: parseStages(fields, place, context) };
}

function uniqueName(
  given: unknown,
  own: Partial<Stages>,
  variants: readonly Variant[],
  place: string,
  problems: Problems,
): string {
  const isTaken = (name: string) => variants.some((variant) => variant.name === name);
  if (given !== undefined) {
    const name = problems.name(`${place}.name`, given);
    if (isTaken(name)) problems.add(`${place}.name`, `is taken already: "${name}".`);
    return name;
  }
  const base = defaultName(own);
  if (base === undefined) problems.add(`${place}.name`, 'must be given: nothing of the variant could stand for it.');
  let name = base ?? place;
  for (let next = 2; isTaken(name); next += 1) name = `${base}-${next}`;
  return name;
}

/** What sets a variant apart is what it is called. */
function defaultName({ limit, schedule, balance }: Partial<Stages>): string | undefined {
  return balance?.kind ?? schedule?.kind ?? limit?.[0]?.policy.algorithm;
}

/** Where a stage was given, up to its name: in the variant, or in what all have in common. */
type PlaceOf = (stage: keyof Stages) => string;

/** What can only be said of all stages together. */
function checkStages(stages: Stages, place: string, placeOf: PlaceOf, context: Context): void {
  const { problems, isServiceGiven } = context;
  const at = (field: string) => (place ? `${place}.${field}` : field);
  const { service, limit, schedule, servers, balance, protect } = stages;
  if (!limit && !schedule && !servers)
    problems.add(place || 'A scenario', 'must have at least one of limit, schedule and servers.');
  if (servers && !balance) problems.add(at('balance'), 'must say how servers are chosen, such as round-robin.');
  if (balance && !servers) problems.add(at('servers'), 'must be given where there is a balance.');
  if (protect && !servers) problems.add(at('servers'), 'must be given where there is a protect.');
  if ((servers || schedule) && !service && !isServiceGiven)
    problems.add(at('service'), 'must say how long calls take, such as 100ms, where there are servers or a schedule.');
  checkOperations(stages, `${placeOf('operations')}operations`, context);
}

/** What happens without a call, or again and again for one: a run that nobody could wait for is refused. */
function checkEvents(stages: Stages, placeOf: PlaceOf, context: Context): void {
  const { problems, durationMs, expectedCalls } = context;
  const { servers, balance, protect } = stages;
  const check = (place: string, count: number, what: string, most: number): void => {
    if (count > most) problems.add(place, `comes to about ${Math.round(count)} ${what}, and may be at most ${most}.`);
  };
  const intervalMs = balance?.health?.checks ? checkIntervalMs(balance.health.checks) : Number.POSITIVE_INFINITY;
  const checks = ((servers?.members.length ?? 0) * durationMs) / intervalMs;
  check(`${placeOf('balance')}balance.health.checks`, checks, 'checks', mostChecks);
  const { attempts = usualAttempts, budget } = protect?.retry ?? {};
  if (budget === 'none')
    check(`${placeOf('protect')}protect.retry`, expectedCalls * attempts, 'attempts', mostArrivals);
}

function parseClaims(data: unknown, variants: readonly Variant[], problems: Problems): Claim[] {
  if (data === undefined) return [];
  const list = problems.items('expect', data, 'a list of claims, such as - gcra.allowed == 20');
  if (list.length > mostClaims) problems.add('expect', `must have at most ${mostClaims} claims, got ${list.length}.`);
  const names = variants.map(({ name }) => name);
  // Without variants nothing can be claimed of them, and that there are none was said already.
  if (names.length === 0) return [];
  return list.flatMap((each, i) => {
    const place = `expect[${i}]`;
    if (typeof each !== 'string') {
      problems.wrong(place, 'a claim such as "gcra.allowed == 20"', each);
      return [];
    }
    const claim = problems.attempt(place, () => parseClaim(each, names));
    return claim ? [claim] : [];
  });
}
