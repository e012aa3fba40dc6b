/** What is done to the stages while calls come: to keys of the limit, to its clock, to tasks and tenants of the scheduler. */
import { limiter } from 'sluice';
import { isConcurrency } from '../policy-kinds.ts';
import { type Data, isRecord, type Problems } from './problems.ts';
import type { Limit, LimitOperation, Operation, Schedule, ScheduleOperation, Stages } from './scenario.ts';

type Name = Operation['do'];
type Action = LimitOperation | ScheduleOperation;

interface Kind {
  /** Beside `at`, `do` and `every`. */
  readonly fields: readonly string[];
  /** What it is done to: one limit, places of a limit, the clock of all limits; any scheduler, or one of that kind. */
  readonly target: 'limit' | 'places' | 'clock' | 'schedule' | 'priority' | 'fair';
  readonly read: (fields: Data, at: (field: string) => string, context: OperationsContext) => Action;
}

export interface OperationsContext {
  readonly problems: Problems;
  readonly durationMs: number;
  /** The names of the traffic's groups. */
  readonly groups: readonly string[];
}

const mostOperations = 100_000;
/** As the library has it. */
const usualExpiryMs = 60_000;

const kinds: Readonly<Record<Name, Kind>> = {
  peek: ofCost('peek'),
  penalize: ofCost('penalize'),
  reward: ofCost('reward'),
  take: ofCost('take'),
  reset: {
    fields: ['key'],
    target: 'limit',
    read: ({ key }, at, { problems }) => ({ do: 'reset', key: keyOf(key, at, problems) }),
  },
  block: {
    fields: ['key', 'for'],
    target: 'limit',
    read: (fields, at, { problems }) => ({
      do: 'block',
      key: keyOf(fields.key, at, problems),
      forMs: problems.duration(at('for'), fields.for),
    }),
  },
  reserve: {
    fields: ['key', 'cost', 'expires', 'commit', 'cancel', 'after'],
    target: 'limit',
    read: (fields, at, { problems }) => ({
      do: 'reserve',
      key: keyOf(fields.key, at, problems),
      cost: costOf(fields.cost, at, problems),
      expiresMs: fields.expires === undefined ? usualExpiryMs : problems.duration(at('expires'), fields.expires),
      settle: settlingOf(fields, at, problems),
    }),
  },
  release: {
    fields: ['key'],
    target: 'places',
    read: ({ key }, at, { problems }) => ({ do: 'release', key: keyOf(key, at, problems) }),
  },
  'set-clock': {
    fields: ['back', 'ahead'],
    target: 'clock',
    read: (fields, at, { problems }) => ({ do: 'set-clock', byMs: stepOf(fields, at, problems) }),
  },
  boost: ofPriority('boost'),
  demote: ofPriority('demote'),
  remove: {
    fields: ['of'],
    target: 'priority',
    read: ({ of }, at, context) => ({ do: 'remove', of: groupOf(of, at, context) }),
  },
  abort: {
    fields: ['of'],
    target: 'schedule',
    read: ({ of }, at, context) => ({ do: 'abort', of: groupOf(of, at, context) }),
  },
  'block-tenant': ofTenant('block-tenant'),
  'wake-tenant': ofTenant('wake-tenant'),
  'remove-tenant': ofTenant('remove-tenant'),
  drain: { fields: [], target: 'schedule', read: () => ({ do: 'drain' }) },
  close: { fields: [], target: 'schedule', read: () => ({ do: 'close' }) },
  stall: {
    fields: ['for'],
    target: 'schedule',
    read: (fields, at, { problems }) => ({ do: 'stall', forMs: problems.duration(at('for'), fields.for) }),
  },
};
const names = Object.keys(kinds) as Name[];

export function parseOperations(data: unknown, place: string, context: OperationsContext): readonly Operation[] {
  const { problems } = context;
  const list = problems.items(place, data, 'a list of operations, such as - { at: 5s, do: reset, key: alice }');
  const operations = list.flatMap((each, i) => parseOne(each, `${place}[${i}]`, context));
  if (operations.length > mostOperations)
    problems.add(place, `comes to more than ${mostOperations} operations, which is the most.`);
  // Of the same time: in the order in which they were written.
  return operations.sort((a, b) => a.atMs - b.atMs);
}

/** One, or as many as there are when it is done again and again. */
function parseOne(data: unknown, place: string, context: OperationsContext): Operation[] {
  const { problems, durationMs } = context;
  const at = (field: string) => `${place}.${field}`;
  const name = problems.choice(at('do'), isRecord(data) ? data.do : undefined, names);
  const { fields: own, read } = kinds[name];
  const fields = problems.record(place, data, ['at', 'do', 'every', ...own]);
  const atMs = fields.at === undefined ? 0 : problems.time(at('at'), fields.at);
  if (atMs >= durationMs) problems.wrong(at('at'), 'before the end of the run', fields.at);
  const action = read(fields, at, context);
  const everyMs = fields.every === undefined ? durationMs : problems.duration(at('every'), fields.every);
  const count = Math.min(mostOperations + 1, Math.ceil((durationMs - atMs) / everyMs));
  return Array.from({ length: Math.max(1, count) }, (_, i) => ({ atMs: atMs + i * everyMs, ...action }));
}

function ofCost(name: 'peek' | 'penalize' | 'reward' | 'take'): Kind {
  return {
    fields: ['key', 'cost'],
    target: 'limit',
    read: ({ key, cost }, at, { problems }) => ({
      do: name,
      key: keyOf(key, at, problems),
      cost: costOf(cost, at, problems),
    }),
  };
}

function ofPriority(name: 'boost' | 'demote'): Kind {
  return {
    fields: ['of', 'by'],
    target: 'priority',
    read: ({ of, by }, at, context) => ({
      do: name,
      of: groupOf(of, at, context),
      by: by === undefined ? 1 : context.problems.number(at('by'), by),
    }),
  };
}

function ofTenant(name: 'block-tenant' | 'wake-tenant' | 'remove-tenant'): Kind {
  return {
    fields: ['tenant'],
    target: 'fair',
    read: ({ tenant }, at, { problems }) => ({ do: name, tenant: problems.text(at('tenant'), tenant) }),
  };
}

type At = (field: string) => string;

/** Calls whose shape has no key have this one. */
function keyOf(data: unknown, at: At, problems: Problems): string {
  return data === undefined ? 'all' : problems.text(at('key'), data);
}

function costOf(data: unknown, at: At, problems: Problems): number {
  return data === undefined ? 1 : problems.number(at('cost'), data);
}

function groupOf(data: unknown, at: At, { groups, problems }: OperationsContext): string {
  const of = problems.text(at('of'), data);
  if (of === '' || groups.includes(of)) return of;
  const known = groups.length === 0 ? 'None of it has a name.' : `There are: ${groups.join(', ')}.`;
  problems.add(at('of'), `must be the name of some traffic, got "${of}". ${known}`);
  return of;
}

function settlingOf({ commit, cancel, after }: Data, at: At, problems: Problems) {
  if (cancel !== undefined && cancel !== true) problems.wrong(at('cancel'), 'true, or left out', cancel);
  if (commit !== undefined && cancel !== undefined)
    problems.add(at('cancel'), 'must be left out beside a commit: a reservation ends once.');
  if (commit === undefined && cancel === undefined) {
    if (after !== undefined) problems.add(at('after'), 'must be left out where there is neither commit nor cancel.');
    return undefined;
  }
  const actual = commit === undefined ? ('cancel' as const) : problems.number(at('commit'), commit);
  return { afterMs: problems.time(at('after'), after), actual };
}

function stepOf({ back, ahead }: Data, at: At, problems: Problems): number {
  if ((back === undefined) === (ahead === undefined)) {
    problems.add(at('do'), 'set-clock must have either back or ahead, such as back: 2s.');
    return 0;
  }
  return back === undefined ? problems.duration(at('ahead'), ahead) : -problems.duration(at('back'), back);
}

/** What can only be said of operations and stages together. */
export function checkOperations({ operations, limit, schedule }: Stages, place: string, problems: Problems): void {
  let aheadMs = 0;
  for (const operation of operations ?? []) {
    const { do: name, atMs } = operation;
    const trouble = troubleOf(kinds[name].target, limit, schedule);
    if (trouble) problems.add(`${place}: ${name}`, trouble);
    if (name !== 'set-clock') continue;
    aheadMs += operation.byMs;
    if (atMs + aheadMs < 0) problems.add(`${place}: set-clock`, 'must not go back to before the beginning of the run.');
  }
  if (operations && limit?.length === 1) tryOut(operations, limit[0]!, place, problems);
}

function troubleOf(target: Kind['target'], limit: Stages['limit'], schedule: Schedule | undefined): string | undefined {
  if (target === 'limit' || target === 'places' || target === 'clock') {
    if (!limit) return 'must have a limit that it is done to.';
    if (target === 'limit' && limit.length > 1) return `must have one limit that it is done to, got ${limit.length}.`;
    const hasPlaces = limit.some(({ policy }) => isConcurrency(policy));
    return target === 'places' && !hasPlaces ? 'must have a limit of algorithm concurrency.' : undefined;
  }
  if (!schedule) return 'must have a schedule that it is done to.';
  const isFitting = target === 'schedule' || target === schedule.kind;
  return isFitting ? undefined : `must have a schedule of kind ${target}, got ${schedule.kind}.`;
}

/** Done once to see that they can be: the library says best what an algorithm cannot do. */
function tryOut(operations: readonly Operation[], { policy }: Limit, place: string, problems: Problems): void {
  const used = new Set(operations.map((operation) => operation.do).filter((name) => kinds[name].target === 'limit'));
  for (const name of used) {
    problems.attempt(`${place}: ${name}`, () => {
      const tried = limiter(policy) as unknown as Record<string, (key: string, cost?: number) => unknown>;
      tried[name]!('key', ['take', 'reserve', 'block'].includes(name) ? 1 : undefined);
    });
  }
}

export function isScheduleOperation(action: Action): action is ScheduleOperation {
  return ['schedule', 'priority', 'fair'].includes(kinds[action.do].target);
}
