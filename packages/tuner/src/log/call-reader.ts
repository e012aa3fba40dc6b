/** From the fields of a line to a call: when, who, how much, what came of it, and what was called. */
import type { ChosenFields, RouteFields } from './choose-fields.ts';
import { clientNamer } from './client-name.ts';
import { decimalIn } from './decimal.ts';
import { emptyRange, type FieldSplitter, isMissing, type Slots } from './fields.ts';
import type { ByteRange, LogLine } from './log-line.ts';
import { momentReader } from './moment.ts';
import { NameBuffer, setRange } from './name-buffer.ts';
import { setRouteOfParts, setRouteOfRequest } from './route.ts';
import { saysMs } from './usual-names.ts';
import { visible } from './visible.ts';

/** All fields that a choice needs of a line. */
export function fieldsOf({ time, key, costs, status, route }: ChosenFields): Set<string> {
  const names = new Set([time, ...costs]);
  if (status !== undefined) names.add(status);
  for (const part of key) {
    if ('field' in part) names.add(part.field);
    if (part.kind === 'forwarded' && part.address !== undefined) names.add(part.address);
  }
  if ('field' in route) names.add(route.field);
  if (route.kind === 'parts') names.add(route.target);
  if (route.kind === 'parts' && route.method !== undefined) names.add(route.method);
  return names;
}

/** The line is a call, but of nobody: it lacks the key. */
export const withoutKey = Symbol('without key');

/** Fills the line; else what is wrong, in words that follow "The line". */
export type CallReader = (
  bytes: Uint8Array,
  start: number,
  end: number,
  line: LogLine,
) => string | typeof withoutKey | undefined;

export interface Calls {
  readonly read: CallReader;
  /** Whether one of the lines so far had a cost. */
  hasCosts(): boolean;
}

export function callReader(split: FieldSplitter, slots: Slots, chosen: ChosenFields, ipv6Subnet: number): Calls {
  const time = slots.get(chosen.time)!;
  const readMoment = momentReader({ isMs: saysMs(chosen.time) });
  const status = chosen.status === undefined ? emptyRange() : slots.get(chosen.status)!;
  const costs = chosen.costs.map((name) => [name, slots.get(name)!] as const);
  const setRoute = routeSetter(chosen.route, slots);
  const nameClient = clientNamer(chosen.key, slots, ipv6Subnet);
  let hasCosts = false;

  const read: CallReader = (bytes, start, end, line) => {
    const problem = split(bytes, start, end);
    if (problem !== undefined) return problem;
    const atMs = readMoment(time.bytes, time.start, time.end);
    if (!Number.isFinite(atMs)) return notATime(chosen.time, time);
    line.atMs = atMs;
    line.cost = 1;
    if (costs.length > 0) {
      hasCosts ||= costs.some(([, slot]) => !isMissing(slot));
      line.cost = costOf(costs);
      if (!(line.cost >= 0)) return notACost(costs);
    }
    line.status = statusIn(status);
    setRoute(line.route);
    return nameClient(line.client, line.route) ? undefined : withoutKey;
  };
  return { read, hasCosts: () => hasCosts };
}

function notATime(name: string, { bytes, start, end }: ByteRange): string {
  return start === end
    ? `has no time in the field "${name}"`
    : `has a time that is none: "${visible(bytes, start, end)}"`;
}

type Costs = readonly (readonly [name: string, slot: ByteRange])[];

/** As far as limits are looked for. Sums of larger costs round, and those of the largest are no numbers any more. */
const largestCost = 1e15;

/** NaN: one of them is no cost. A call whose cost was not written down counts as one. */
function costOf(costs: Costs): number {
  let sum = 0;
  let given = 0;
  for (const [, slot] of costs) {
    if (isMissing(slot)) continue;
    const cost = decimalIn(slot.bytes, slot.start, slot.end);
    if (!(cost >= 0)) return Number.NaN;
    sum += cost;
    given += 1;
  }
  return given === 0 ? 1 : sum <= largestCost ? sum : Number.NaN;
}

function notACost(costs: Costs): string {
  for (const [name, slot] of costs) {
    if (isMissing(slot) || decimalIn(slot.bytes, slot.start, slot.end) >= 0) continue;
    return `has a cost that is no number of 0 or more: ${name} is "${visible(slot.bytes, slot.start, slot.end)}"`;
  }
  return `has a cost above ${largestCost}: ${costs.map(([name]) => name).join('+')}`;
}

/** Three digits; 0 for anything else. */
function statusIn({ bytes, start, end }: ByteRange): number {
  if (end - start !== 3) return 0;
  const [hundreds, tens, ones] = [bytes[start]! - 0x30, bytes[start + 1]! - 0x30, bytes[start + 2]! - 0x30];
  const isNumber = hundreds >= 0 && hundreds <= 9 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9;
  return isNumber ? hundreds * 100 + tens * 10 + ones : 0;
}

function routeSetter(fields: RouteFields, slots: Slots): (route: ByteRange) => void {
  if (fields.kind === 'none') {
    const none = emptyRange();
    return (route) => setRange(route, none.bytes, 0, 0);
  }
  if (fields.kind === 'parts') {
    const method = fields.method === undefined ? emptyRange() : slots.get(fields.method)!;
    const target = slots.get(fields.target)!;
    const name = new NameBuffer();
    return (route) => setRouteOfParts(route, method, target, name);
  }
  const slot = slots.get(fields.field)!;
  if (fields.kind === 'request') return (route) => setRouteOfRequest(route, slot);
  return (route) => setRange(route, slot.bytes, slot.start, slot.end);
}
