/** The traffic of a scenario: a list of shapes, each with its own fields and those that all have. */
import {
  attack,
  burst,
  diurnal,
  flashCrowd,
  moved,
  onOff,
  type Period,
  poisson,
  repeated,
  steady,
  type Traffic,
  zipfKeys,
} from '../traffic.ts';
import { type Data, isName, type Problems } from './problems.ts';
import { everybody, furthestPriority, type ServiceTime, type Source } from './scenario.ts';

export interface TrafficContext {
  readonly problems: Problems;
  readonly durationMs: number;
  readonly readLog: ((path: string) => Traffic) | undefined;
}

/** What a shape comes to. */
interface Shaped {
  readonly traffic: (seed: number) => Traffic;
  readonly expectedCalls: number | undefined;
  /** Has keys of its own. */
  readonly hasKeys?: boolean;
}

interface Shape {
  readonly fields: readonly string[];
  /** `period` has the key and cost too. */
  readonly read: (data: Data, place: string, period: Required<Period>, context: TrafficContext) => Shaped;
}

const span = ['from', 'until'];
const common = ['shape', 'name', 'key', 'clients', 'cost', 'priority', 'deadline', 'service'];

const shapes: Readonly<Record<string, Shape>> = {
  steady: {
    fields: ['rate', ...span],
    read(data, place, period, { problems }) {
      const rate = problems.rate(`${place}.rate`, data.rate);
      return { traffic: () => steady(rate, period), expectedCalls: callsIn(rate, period) };
    },
  },
  poisson: {
    fields: ['rate', ...span],
    read(data, place, period, { problems }) {
      const rate = problems.rate(`${place}.rate`, data.rate);
      return { traffic: (seed) => poisson(rate, { ...period, seed }), expectedCalls: callsIn(rate, period) };
    },
  },
  burst: { fields: ['count', 'at', 'spacing', 'every', 'until'], read: readBurst },
  'on-off': {
    fields: ['rate', 'on', 'off', ...span],
    read(data, place, period, { problems }) {
      const rate = problems.rate(`${place}.rate`, data.rate);
      const onMs = problems.duration(`${place}.on`, data.on);
      const offMs = problems.duration(`${place}.off`, data.off);
      const { fromMs } = period;
      return {
        traffic: (seed) => onOff(poisson(rate, { ...period, seed }), { onMs, offMs, fromMs }),
        expectedCalls: callsIn(rate, period),
      };
    },
  },
  diurnal: {
    fields: ['low', 'high', 'day', 'peakAt', ...span],
    read(data, place, period, { problems }) {
      const lowPerSecond = problems.rate(`${place}.low`, data.low);
      const highPerSecond = problems.rate(`${place}.high`, data.high);
      if (lowPerSecond > highPerSecond) problems.wrong(`${place}.low`, 'a rate not above high', data.low);
      const dayMs = data.day === undefined ? 86_400_000 : problems.duration(`${place}.day`, data.day);
      const peakAtMs = data.peakAt === undefined ? dayMs / 2 : problems.time(`${place}.peakAt`, data.peakAt);
      const options = { ...period, lowPerSecond, highPerSecond, dayMs, peakAtMs };
      return { traffic: (seed) => diurnal({ ...options, seed }), expectedCalls: callsIn(highPerSecond, period) };
    },
  },
  'flash-crowd': {
    fields: ['base', 'peak', 'at', 'ramp', 'hold', 'decay', ...span],
    read(data, place, period, { problems }) {
      const basePerSecond = problems.rate(`${place}.base`, data.base);
      const peakPerSecond = problems.rate(`${place}.peak`, data.peak);
      if (basePerSecond > peakPerSecond) problems.wrong(`${place}.base`, 'a rate not above peak', data.base);
      const options = {
        ...period,
        basePerSecond,
        peakPerSecond,
        atMs: problems.time(`${place}.at`, data.at),
        rampMs: problems.duration(`${place}.ramp`, data.ramp),
        holdMs: problems.time(`${place}.hold`, data.hold),
        decayMs: problems.duration(`${place}.decay`, data.decay),
      };
      return { traffic: (seed) => flashCrowd({ ...options, seed }), expectedCalls: callsIn(peakPerSecond, period) };
    },
  },
  attack: {
    fields: ['rate', 'keys', ...span],
    read(data, place, period, { problems }) {
      const rate = problems.rate(`${place}.rate`, data.rate);
      const range = { min: 1, max: 10_000_000, isWhole: true };
      const keys = data.keys === undefined ? 1 : problems.number(`${place}.keys`, data.keys, range);
      const key = data.key === undefined ? 'attacker' : period.key;
      const traffic = () => attack(rate, { ...period, key, keys });
      return { traffic, expectedCalls: callsIn(rate, period), hasKeys: true };
    },
  },
  replay: { fields: ['log', 'speed', ...span], read: readReplay },
};

const shapeNames = Object.keys(shapes);

function callsIn(perSecond: number, { fromMs, untilMs }: Required<Period>): number {
  return (perSecond * (untilMs - fromMs)) / 1000;
}

function readBurst(
  data: Data,
  place: string,
  period: Required<Period>,
  { problems, durationMs }: TrafficContext,
): Shaped {
  const { key, cost, untilMs } = period;
  const count = problems.number(`${place}.count`, data.count, { min: 1, max: 50_000_000, isWhole: true });
  const atMs = problems.time(`${place}.at`, data.at);
  const spacingMs = data.spacing === undefined ? 0 : problems.time(`${place}.spacing`, data.spacing);
  const lastMs = atMs + (count - 1) * spacingMs;
  if (lastMs >= durationMs)
    problems.add(place, `ends at ${lastMs} ms, which is not before the end of the run (${durationMs} ms).`);
  const once = burst(count, { key, cost, atMs, spacingMs });
  if (data.every === undefined) {
    if (data.until !== undefined)
      problems.add(`${place}.until`, 'is only for a burst that comes again: give every too.');
    return { traffic: () => once, expectedCalls: count };
  }
  const everyMs = problems.duration(`${place}.every`, data.every);
  if (lastMs - atMs >= everyMs)
    problems.add(`${place}.every`, `must be longer than the burst itself, which takes ${lastMs - atMs} ms.`);
  const traffic = repeated(once, { everyMs, untilMs });
  return { traffic: () => traffic, expectedCalls: count * Math.ceil((untilMs - atMs) / everyMs) };
}

function readReplay(data: Data, place: string, period: Required<Period>, context: TrafficContext): Shaped {
  const { problems, readLog } = context;
  const path = problems.text(`${place}.log`, data.log);
  const range = { min: 0.000001, max: 1_000_000 };
  const speed = data.speed === undefined ? 1 : problems.number(`${place}.speed`, data.speed, range);
  if (!readLog) problems.add(`${place}.log`, 'cannot be read here: whoever parses the scenario gave no readLog.');
  const log = path && readLog ? problems.attempt(`${place}.log`, () => readLog(path)) : undefined;
  const { fromMs, untilMs } = period;
  const traffic = moved(log ?? [], { fromMs, untilMs, speed });
  return { traffic: () => traffic, expectedCalls: undefined, hasKeys: true };
}

export function parseTraffic(data: unknown, context: TrafficContext): Source[] {
  const { problems } = context;
  const list = problems.items('traffic', data, 'a list of shapes, such as - { shape: steady, rate: 50/s }');
  if (Array.isArray(data) && list.length === 0) problems.add('traffic', 'must have at least one shape.');
  const sources = list.map((each, i) => parseSource(each, `traffic[${i}]`, context));
  const names = sources.map(({ name }) => name).filter((name) => name !== undefined);
  // Two shapes of one key are one group, unless they were given names.
  for (const [i, each] of list.entries()) {
    const { name } = (each ?? {}) as Data;
    if (name !== undefined && names.filter((other) => other === name).length > 1)
      problems.add(`traffic[${i}].name`, `is taken already: "${name}".`);
  }
  return sources;
}

function parseSource(data: unknown, place: string, context: TrafficContext): Source {
  const { problems } = context;
  const shapeName = (data as Data | undefined)?.shape;
  const isKnown = typeof shapeName === 'string' && Object.hasOwn(shapes, shapeName);
  const shape = isKnown ? shapes[shapeName]! : undefined;
  if (!shape) {
    problems.wrong(`${place}.shape`, `one of ${shapeNames.join(', ')}`, shapeName);
    return {
      name: undefined,
      isNamed: false,
      traffic: () => [],
      expectedCalls: 0,
      priority: 0,
      deadlineMs: undefined,
      service: undefined,
    };
  }
  const fields = problems.record(place, data, [...common, ...shape.fields]);
  const key = fields.key === undefined ? everybody : problems.text(`${place}.key`, fields.key);
  const cost = fields.cost === undefined ? 1 : problems.number(`${place}.cost`, fields.cost);
  const shaped = shape.read(fields, place, { key, cost, ...parseSpan(fields, place, context) }, context);
  return {
    name: nameOf(fields, place, problems),
    isNamed: fields.name !== undefined,
    ...withClients(fields, place, shaped, problems),
    priority:
      fields.priority === undefined
        ? 0
        : problems.number(`${place}.priority`, fields.priority, { min: -furthestPriority, max: furthestPriority }),
    deadlineMs: fields.deadline === undefined ? undefined : problems.duration(`${place}.deadline`, fields.deadline),
    service: fields.service === undefined ? undefined : parseService(fields.service, `${place}.service`, problems),
  };
}

/** A key is a name as good as any, where it can stand in a claim. */
function nameOf({ name, key }: Data, place: string, problems: Problems): string | undefined {
  if (name !== undefined) return problems.name(`${place}.name`, name);
  return isName(key) ? key : undefined;
}

function parseSpan({ from, until }: Data, place: string, { problems, durationMs }: TrafficContext) {
  const fromMs = from === undefined ? 0 : problems.time(`${place}.from`, from);
  const untilMs = until === undefined ? durationMs : problems.duration(`${place}.until`, until);
  if (fromMs >= untilMs) problems.add(`${place}.from`, `must be before the end (${untilMs} ms), got ${fromMs} ms.`);
  if (untilMs > durationMs) problems.add(`${place}.until`, `must not be after the end of the run (${durationMs} ms).`);
  return { fromMs, untilMs };
}

function withClients(
  data: Data,
  place: string,
  shaped: Shaped,
  problems: Problems,
): Pick<Source, 'traffic' | 'expectedCalls'> {
  const { traffic, expectedCalls, hasKeys } = shaped;
  if (data.clients === undefined) return { traffic, expectedCalls };
  const at = `${place}.clients`;
  const { count, exponent = 1 } = problems.record(at, data.clients, ['count', 'exponent']);
  if (data.key !== undefined || hasKeys) problems.add(at, 'must be left out where the shape has keys of its own.');
  const options = {
    count: problems.number(`${at}.count`, count, { min: 1, max: 10_000_000, isWhole: true }),
    exponent: problems.number(`${at}.exponent`, exponent, { max: 10 }),
  };
  // The seed of the keys must not be that of the arrivals: the busiest would come at certain times.
  return { traffic: (seed) => zipfKeys(traffic(seed), { ...options, seed: seed + 1 }), expectedCalls };
}

/** `100ms`, `{ fixed: 100ms }`, `{ exponential: 100ms }`, or anything `{ from: 50ms, to: 150ms }`. */
export function parseService(data: unknown, place: string, problems: Problems): ServiceTime {
  if (typeof data === 'string' || typeof data === 'number')
    return { kind: 'fixed', ms: problems.duration(place, data) };
  const { fixed, exponential, from, to } = problems.record(place, data, ['fixed', 'exponential', 'from', 'to']);
  const given = [fixed, exponential, from ?? to].filter((each) => each !== undefined);
  if (given.length !== 1)
    problems.wrong(place, 'a duration, { exponential: duration } or { from: duration, to: duration }', data);
  if (exponential !== undefined)
    return { kind: 'exponential', meanMs: problems.duration(`${place}.exponential`, exponential) };
  if (from === undefined && to === undefined) return { kind: 'fixed', ms: problems.duration(`${place}.fixed`, fixed) };
  const fromMs = problems.time(`${place}.from`, from);
  const toMs = problems.duration(`${place}.to`, to);
  if (fromMs > toMs) problems.wrong(`${place}.from`, 'not above to', from);
  return { kind: 'uniform', fromMs, toMs };
}
