/** The servers of a scenario, how a balancer chooses among them, and what befalls them. */
import { type Duration, parseDuration, SluiceError } from 'sluice';
import { type BalancerName, balancers, healthChecked, roundRobin } from 'sluice/balance';
import { type Data, isRecord, type Problems } from './problems.ts';
import type { Balance, Happening, ServerSpec, Servers } from './scenario.ts';

const mostServers = 10_000;
const mostHappenings = 10_000;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

const fields = ['count', 'queue', 'workers', 'weights', 'speeds', 'joins', 'leaves', 'happenings'];

export function parseServers(data: unknown, place: string, durationMs: number, problems: Problems): Servers {
  const given: unknown = typeof data === 'number' ? { count: data } : data;
  const servers = problems.record(place, given, fields);
  const count = problems.number(`${place}.count`, servers.count, { min: 1, max: mostServers, isWhole: true });
  // For a few, letters: their picks can be read as A A B A C A A.
  const ids = Array.from({ length: count }, (_, i) => (count <= letters.length ? letters[i]! : `server-${i + 1}`));
  const newcomers = idsOf(servers.joins).filter((id) => !ids.includes(id));
  const all = [...ids, ...newcomers];
  const by = byServer(all, place, problems);
  const weights = by('weights', servers.weights, (at, value) =>
    problems.number(at, value, { min: 0.000001, max: 1e6 }),
  );
  const speeds = by('speeds', servers.speeds, (at, value) => problems.number(at, value, { min: 0.000001, max: 1e6 }));
  const joins = by('joins', servers.joins, (at, value) => momentOf(at, value, durationMs, problems));
  const leaves = by('leaves', servers.leaves, (at, value) => momentOf(at, value, durationMs, problems));
  const workers = optionalNumber(servers.workers, 1, `${place}.workers`, problems);
  const members = all.map(
    (id): ServerSpec => ({
      id,
      weight: weights.get(id) ?? 1,
      speed: speeds.get(id) ?? 1,
      workers,
      joinsMs: joins.get(id) ?? 0,
      leavesMs: leaves.get(id) ?? Number.POSITIVE_INFINITY,
    }),
  );
  for (const { id, joinsMs, leavesMs } of members)
    if (joinsMs >= leavesMs) problems.add(`${place}.leaves.${id}`, `must be after it joins (${joinsMs} ms).`);
  return {
    members,
    queue: optionalNumber(servers.queue, 100_000, `${place}.queue`, problems),
    happenings: parseHappenings(servers.happenings, `${place}.happenings`, { all, durationMs, problems }),
  };
}

function idsOf(data: unknown): string[] {
  return isRecord(data) ? Object.keys(data) : [];
}

function optionalNumber(value: unknown, otherwise: number, place: string, problems: Problems): number {
  return value === undefined ? otherwise : problems.number(place, value, { min: 1, max: 1_000_000, isWhole: true });
}

/** Reads an object of values by server. */
function byServer(ids: readonly string[], place: string, problems: Problems) {
  return (field: string, data: unknown, read: (place: string, value: unknown) => number): Map<string, number> => {
    if (data === undefined) return new Map();
    const at = `${place}.${field}`;
    if (!isRecord(data)) {
      problems.wrong(at, `an object by server, such as { ${ids[0]}: ... }`, data);
      return new Map();
    }
    for (const id of Object.keys(data))
      if (!ids.includes(id)) problems.add(`${at}.${id}`, `is no server. There are: ${some(ids)}.`);
    return new Map(Object.entries(data).map(([id, value]) => [id, read(`${at}.${id}`, value)]));
  };
}

function some(ids: readonly string[]): string {
  return ids.length > 12 ? `${ids.slice(0, 12).join(', ')} and ${ids.length - 12} more` : ids.join(', ');
}

function momentOf(place: string, value: unknown, durationMs: number, problems: Problems): number {
  const atMs = problems.time(place, value);
  if (atMs >= durationMs) problems.add(place, `must be before the end of the run (${durationMs} ms), got ${atMs} ms.`);
  return atMs;
}

interface HappeningContext {
  readonly all: readonly string[];
  readonly durationMs: number;
  readonly problems: Problems;
}

function parseHappenings(data: unknown, place: string, { all, durationMs, problems }: HappeningContext): Happening[] {
  if (data === undefined) return [];
  const list = problems.items(place, data, 'a list, such as - { server: B, fails: 1, from: 10s, until: 20s }');
  if (list.length > mostHappenings) problems.add(place, `must have at most ${mostHappenings}, got ${list.length}.`);
  return list.map((each, i) => {
    const at = `${place}[${i}]`;
    const { server, fails, slow, from, until } = problems.record(at, each, [
      'server',
      'fails',
      'slow',
      'from',
      'until',
    ]);
    if (!all.includes(server as string)) problems.wrong(`${at}.server`, `one of ${some(all)}`, server);
    if (fails === undefined && slow === undefined)
      problems.add(at, 'must say what happens: fails (a share of its calls) or slow (so many times).');
    const fromMs = from === undefined ? 0 : momentOf(`${at}.from`, from, durationMs, problems);
    const untilMs = until === undefined ? durationMs : problems.duration(`${at}.until`, until);
    if (fromMs >= untilMs) problems.add(`${at}.until`, `must be after from (${fromMs} ms), got ${untilMs} ms.`);
    return {
      server: String(server),
      fromMs,
      untilMs,
      fails: fails === undefined ? 0 : problems.number(`${at}.fails`, fails, { max: 1 }),
      slow: slow === undefined ? 1 : problems.number(`${at}.slow`, slow, { min: 0.001, max: 1e6 }),
    };
  });
}

export function parseBalance(data: unknown, place: string, problems: Problems): Balance {
  const given: unknown = typeof data === 'string' ? { kind: data } : data;
  const known = ['kind', 'health', 'points', 'loadFactor', 'decay', 'failurePenalty'];
  const { kind: name, health, ...options } = problems.record(place, given, known);
  const kind = problems.choice(`${place}.kind`, name, Object.keys(balancers) as BalancerName[]);
  // Made once to see that it can be: the library says best what is wrong.
  problems.attempt(place, () => balancers[kind](['A'], options));
  return { kind, options, health: health === undefined ? undefined : parseHealth(health, `${place}.health`, problems) };
}

function parseHealth(data: unknown, place: string, problems: Problems): Balance['health'] {
  const health = problems.record(place, data, ['checks', 'outliers', 'breaker', 'slowStart', 'panicBelow']);
  if (health.checks !== undefined) checkChecks(health.checks, `${place}.checks`, problems);
  if (health.panicBelow !== undefined) problems.number(`${place}.panicBelow`, health.panicBelow, { max: 1 });
  for (const field of ['outliers', 'breaker', 'slowStart']) {
    const value = health[field];
    if (value === undefined) continue;
    if (isRecord(value))
      problems.attempt(`${place}.${field}`, () => healthChecked(roundRobin(['A']), { [field]: value }).close());
    else problems.wrong(`${place}.${field}`, 'an object of options', value);
  }
  return health as Balance['health'];
}

function checkChecks(data: unknown, place: string, problems: Problems): void {
  const checks = problems.record(place, data, ['interval', 'jitter', 'timeout', 'unhealthyAfter', 'healthyAfter']);
  const never = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
  problems.attempt(place, () =>
    healthChecked(roundRobin(['A']), { checks: { ...(checks as Data), probe: () => true }, clock: never }).close(),
  );
}

/** Where they do not say how often: as the library has it. */
const usualCheckIntervalMs = 10_000;

/** What cannot be read has been told of already. */
export function checkIntervalMs({ interval = usualCheckIntervalMs }: { readonly interval?: unknown }): number {
  try {
    return parseDuration(interval as Duration);
  } catch (error) {
    if (error instanceof SluiceError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
