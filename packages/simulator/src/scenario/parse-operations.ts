/** What is done to the stages while calls come: to keys of the limit, to its clock, to tasks and tenants of the scheduler. */
import { type Limiter, limiter, type Policy } from 'sluice';
import { isConcurrency } from '../policy-kinds.ts';
import { type OperationTarget, operationTargets } from './operation-targets.ts';
import { type Data, isRecord, type Problems } from './problems.ts';
import {
  everybody,
  furthestPriority,
  type LimitOperation,
  type Operation,
  type Schedule,
  type ScheduleOperation,
  type Stages,
} from './scenario.ts';
import { type KeyOperation, keyOperations } from './stages/key-operations.ts';
import { OperationLog } from './stages/operation-log.ts';

type Name = Operation['do'];
type Action = LimitOperation | ScheduleOperation;

interface Kind {
  /** Beside `at`, `do` and `every`. */
  readonly fields: readonly string[];
  readonly read: (fields: Data, at: (field: string) => string, context: OperationsContext) => Action;
}

export interface OperationsContext {
  readonly problems: Problems;
  readonly durationMs: number;
  /** The names of the traffic's groups. */
  readonly groups: readonly string[];
}

const mostOperations = 100_000;
/** What the library takes for a time. */
const furthestMs = 1e14;

const kinds: Readonly<Record<Name, Kind>> = {
  peek: ofCost('peek'),
  penalize: ofCost('penalize'),
  reward: ofCost('reward'),
  take: ofCost('take'),
  reset: {
    fields: ['key'],
    read: ({ key }, at, { problems }) => ({ do: 'reset', key: keyOf(key, at, problems) }),
  },
  block: {
    fields: ['key', 'for'],
    read: (fields, at, { problems }) => ({
      do: 'block',
      key: keyOf(fields.key, at, problems),
      forMs: problems.duration(at('for'), fields.for),
    }),
  },
  reserve: {
    fields: ['key', 'cost', 'expires', 'commit', 'cancel', 'after'],
    read: (fields, at, { problems }) => ({
      do: 'reserve',
      key: keyOf(fields.key, at, problems),
      cost: costOf(fields.cost, at, problems),
      expiresMs: fields.expires === undefined ? undefined : problems.duration(at('expires'), fields.expires),
      settle: settlingOf(fields, at, problems),
    }),
  },
  release: {
    fields: ['key'],
    read: ({ key }, at, { problems }) => ({ do: 'release', key: keyOf(key, at, problems) }),
  },
  'set-clock': {
    fields: ['back', 'ahead'],
    read: (fields, at, { problems }) => ({ do: 'set-clock', byMs: stepOf(fields, at, problems) }),
  },
  boost: ofPriority('boost'),
  demote: ofPriority('demote'),
  remove: {
    fields: ['of'],
    read: ({ of }, at, context) => ({ do: 'remove', of: groupOf(of, at, context) }),
  },
  abort: {
    fields: ['of'],
    read: ({ of }, at, context) => ({ do: 'abort', of: groupOf(of, at, context) }),
  },
  'block-tenant': ofTenant('block-tenant'),
  'wake-tenant': ofTenant('wake-tenant'),
  'remove-tenant': ofTenant('remove-tenant'),
  drain: { fields: [], read: () => ({ do: 'drain' }) },
  close: { fields: [], read: () => ({ do: 'close' }) },
  stall: {
    fields: ['for'],
    read: (fields, at, { problems }) => ({ do: 'stall', forMs: problems.duration(at('for'), fields.for) }),
  },
};
const names = Object.keys(kinds) as Name[];
const example = '{ at: 5s, do: reset, key: alice }';

export function parseOperations(data: unknown, place: string, context: OperationsContext): readonly Operation[] {
  const { problems } = context;
  const list = problems.items(place, data, `a list of operations, such as - ${example}`);
  const items = list.flatMap((each, i) => parseItem(each, i, `${place}[${i}]`, context));
  // Counted before they are made: many lines of many times each would fill the memory first.
  const count = items.reduce((sum, { times }) => sum + times, 0);
  const isTooMany = count > mostOperations;
  if (isTooMany) problems.add(place, `comes to more than ${mostOperations} operations, which is the most.`);
  const operations = items.flatMap(({ first, times, everyMs }) =>
    Array.from({ length: isTooMany ? 1 : times }, (_, i) => ({ ...first, atMs: first.atMs + i * everyMs })),
  );
  // Of the same time: in the order in which they were written.
  return operations.sort((a, b) => a.atMs - b.atMs);
}

interface Item {
  readonly first: Operation;
  readonly times: number;
  readonly everyMs: number;
}

/** None where something is wrong with it: what else could be said of it would rest on values that nobody gave. */
function parseItem(data: unknown, index: number, place: string, context: OperationsContext): Item[] {
  const { problems, durationMs } = context;
  const known = problems.list.length;
  const at = (field: string) => `${place}.${field}`;
  if (!isRecord(data)) {
    problems.wrong(place, `an object such as ${example}`, data);
    return [];
  }
  const name = problems.choice(at('do'), data.do, names);
  if (name !== data.do) return [];
  const { fields: own, read } = kinds[name];
  const fields = problems.record(place, data, ['at', 'do', 'every', ...own]);
  const atMs = fields.at === undefined ? 0 : problems.time(at('at'), fields.at);
  if (atMs >= durationMs) problems.wrong(at('at'), 'before the end of the run', fields.at);
  const action = read(fields, at, context);
  const everyMs = fields.every === undefined ? durationMs : problems.duration(at('every'), fields.every);
  if (problems.list.length > known) return [];
  return [{ first: { atMs, index, ...action }, times: Math.ceil((durationMs - atMs) / everyMs), everyMs }];
}

function ofCost(name: 'peek' | 'penalize' | 'reward' | 'take'): Kind {
  return {
    fields: ['key', 'cost'],
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
    read: ({ of, by }, at, context) => ({
      do: name,
      of: groupOf(of, at, context),
      by: by === undefined ? 1 : context.problems.number(at('by'), by, { max: furthestPriority }),
    }),
  };
}

function ofTenant(name: 'block-tenant' | 'wake-tenant' | 'remove-tenant'): Kind {
  return {
    fields: ['tenant'],
    read: ({ tenant }, at, { problems }) => ({ do: name, tenant: problems.text(at('tenant'), tenant) }),
  };
}

type At = (field: string) => string;

function keyOf(data: unknown, at: At, problems: Problems): string {
  return data === undefined ? everybody : problems.text(at('key'), data);
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

/** What can only be said of operations and stages together. `place` is where the operations were given. */
export function checkOperations(
  { operations = [], limit, schedule }: Stages,
  place: string,
  { problems, durationMs }: OperationsContext,
): void {
  const tryOut = limit?.length === 1 ? triedOutOn(limit[0]!.policy) : undefined;
  const seen = new Set<number>();
  let aheadMs = 0;
  // Of what is done by a clock that cannot be, nothing more is said.
  let isClockRight = true;
  for (const operation of operations) {
    const { do: name, index, atMs } = operation;
    const at = `${place}[${index}]:`;
    if (name === 'set-clock' && isClockRight) {
      aheadMs += operation.byMs;
      const trouble = troubleOfClock(atMs + aheadMs, durationMs + aheadMs);
      if (trouble) problems.add(at, trouble);
      isClockRight = trouble === undefined;
    }
    // What is done again and again is looked at once.
    if (seen.has(index)) continue;
    seen.add(index);
    const trouble = troubleOf(operationTargets[name], limit, schedule);
    if (trouble) problems.add(at, `${name} ${trouble}`);
    else if (isClockRight && isKeyOperation(operation))
      problems.attempt(`${at} ${name}`, () => tryOut?.(operation, atMs + aheadMs));
  }
}

function troubleOfClock(nowMs: number, endMs: number): string | undefined {
  if (nowMs < 0) return 'set-clock must not go back to before the beginning of the run.';
  if (endMs <= furthestMs) return undefined;
  return `set-clock must not go further ahead than ${furthestMs} ms by the end of the run, got ${endMs} ms.`;
}

function troubleOf(
  target: OperationTarget,
  limit: Stages['limit'],
  schedule: Schedule | undefined,
): string | undefined {
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

function isKeyOperation(operation: Action): operation is KeyOperation {
  return operationTargets[operation.do] === 'limit';
}

/** Done once, with the cost and at the time that it has, to see that it can be: the library says best what an algorithm cannot do. */
function triedOutOn(policy: Policy): (operation: KeyOperation, atMs: number) => void {
  return (operation, atMs) => {
    const operate = keyOperations({
      limit: limiter(policy) as Limiter<'sync' | 'async'>,
      keyOf: (key) => key,
      log: new OperationLog(),
      later: (_, action) => void action(atMs),
    });
    void operate(operation, atMs);
  };
}
