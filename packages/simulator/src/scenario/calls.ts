/** The calls of a scenario, one after the other, the same for every variant: who, when, and how long they will take. */
import type { Random } from '../random.ts';
import { type Arrival, merge, type Traffic } from '../traffic.ts';
import type { Scenario, ServiceTime, Source } from './scenario.ts';
import { streamOf } from './streams.ts';

export interface Call extends Arrival {
  /** Which of the scenario's groups it belongs to; -1 for none. */
  readonly group: number;
  readonly source: Source;
  /** How long it takes whoever works on it; `undefined` where nobody said. */
  readonly serviceMs: number | undefined;
}

interface SourcedArrival extends Arrival {
  readonly source: Source;
}

/** The names that sources have, each once; none where all calls would be in one group, and nobody gave it a name. */
export function groupsOf({ sources }: Pick<Scenario, 'sources'>): string[] {
  const names = new Set(sources.map(({ name }) => name));
  const isOneByChance = names.size === 1 && sources.every(({ isNamed }) => !isNamed);
  return isOneByChance ? [] : [...names].filter((name) => name !== undefined);
}

export function* callsOf(scenario: Scenario, service: ServiceTime | undefined): Generator<Call> {
  const groups = groupsOf(scenario);
  const seeds = streamOf(scenario.seed, 'calls');
  const services = seeds.fork();
  const traffics = scenario.sources.map((source) =>
    sourced(source, source.traffic(Math.floor(seeds.uniform() * 2 ** 50))),
  );
  const groupOf = new Map(scenario.sources.map((source) => [source, groups.indexOf(source.name ?? '')]));
  for (const arrival of merge(...traffics) as Iterable<SourcedArrival>) {
    const { atMs, key, cost, source } = arrival;
    if (atMs >= scenario.durationMs) return;
    const serviceMs = drawn(source.service ?? service, services);
    yield { atMs, key, cost, source, group: groupOf.get(source)!, serviceMs };
  }
}

function sourced(source: Source, traffic: Traffic): Traffic {
  return {
    *[Symbol.iterator](): Generator<SourcedArrival> {
      for (const { atMs, key, cost } of traffic) yield { atMs, key, cost, source };
    },
  };
}

/** One draw for each call, whatever it comes to: the others' must not depend on it. */
function drawn(service: ServiceTime | undefined, services: Random): number | undefined {
  if (service === undefined) return undefined;
  const uniform = services.uniform();
  if (service.kind === 'fixed') return service.ms;
  if (service.kind === 'uniform') return service.fromMs + uniform * (service.toMs - service.fromMs);
  return -service.meanMs * Math.log(1 - uniform);
}
