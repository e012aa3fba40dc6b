/** The scheduler of a scenario, with the options that the library's own has. */
import { fairScheduler, leakyQueue, priorityScheduler, type TenantShare } from 'sluice/schedule';
import { type Data, isRecord, type Problems } from './problems.ts';
import type { Schedule } from './scenario.ts';

const kinds = ['priority', 'fair', 'leaky'] as const;
const common = ['kind', 'concurrency', 'capacity', 'shed', 'deadline'];
const ownFields = { priority: ['ageing'], fair: ['tenants'], leaky: ['limit', 'window'] };

export function parseSchedule(data: unknown, place: string, problems: Problems): Schedule | undefined {
  const given: unknown = typeof data === 'string' ? { kind: data } : data;
  const kind = problems.choice(`${place}.kind`, isRecord(given) ? given.kind : undefined, kinds);
  const {
    kind: _,
    deadline,
    ageing,
    tenants,
    ...options
  } = problems.record(place, given, [...common, ...ownFields[kind]]);
  const deadlineMs = deadline === undefined ? undefined : problems.duration(`${place}.deadline`, deadline);
  const read = { deadlineMs, ageing, tenants, options: options as never };
  const schedule = scheduleOf(kind, read, place, problems);
  // Made once to see that it can be: the library says best what is wrong.
  problems.attempt(place, () => tryOut(schedule));
  return schedule;
}

interface Given {
  readonly deadlineMs: number | undefined;
  readonly ageing: unknown;
  readonly tenants: unknown;
  readonly options: never;
}

function scheduleOf(kind: (typeof kinds)[number], given: Given, place: string, problems: Problems): Schedule {
  const { deadlineMs, ageing, tenants, options } = given;
  if (kind === 'leaky') return { kind, deadlineMs, options };
  if (kind === 'fair')
    return { kind, deadlineMs, options, tenants: parseTenants(tenants, `${place}.tenants`, problems) };
  const ageingMs = ageing === undefined ? 0 : problems.time(`${place}.ageing`, ageing);
  return { kind, deadlineMs, options: { ...(options as object), ageingMs } };
}

function parseTenants(data: unknown, place: string, problems: Problems): Record<string, TenantShare> {
  if (data === undefined) return {};
  if (!isRecord(data)) {
    problems.wrong(place, 'an object of shares by tenant, such as { alice: { nice: -5 } }', data);
    return {};
  }
  const scheduler = fairScheduler();
  for (const [tenant, share] of Object.entries(data))
    problems.attempt(`${place}.${tenant}`, () => scheduler.add(tenant, share as TenantShare));
  return data as Data as Record<string, TenantShare>;
}

function tryOut(schedule: Schedule): void {
  if (schedule.kind === 'priority') priorityScheduler(schedule.options);
  else if (schedule.kind === 'fair') fairScheduler(schedule.options);
  else leakyQueue(schedule.options);
}
