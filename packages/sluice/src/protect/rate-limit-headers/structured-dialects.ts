/** Drafts 7 to 11, and the lists of quotas that came before them. */
import { type DraftPolicy, present, type Reading } from './parsed.ts';
import type { BareItem, Member } from './structured-members.ts';
import { boundedMs } from './waits.ts';

/** `"burst";q=100;w=60`; or as drafts up to 7 and Envoy have it, `100;w=60;name="burst"`. */
export function readDescriptions(members: readonly Member[]): DraftPolicy[] {
  const policies: DraftPolicy[] = [];
  for (const { key, item, parameters } of members) {
    const limit = item.type === 'text' ? amountOf(parameters.get('q')) : amountOf(item);
    if (key !== undefined || limit === undefined) continue;
    // A window that has no length is none.
    const windowMs = durationOf(parameters.get('w')) || undefined;
    const usual = members.length === 1 || windowMs === undefined ? 'default' : `${limit};w=${windowMs / 1000}`;
    policies.push(
      present<DraftPolicy>({
        name: item.type === 'text' ? item.value : (textOf(parameters.get('name')) ?? usual),
        limit,
        windowMs,
        unit: unitOf(textOf(parameters.get('qu'))),
        partitionKey: bytesOf(parameters.get('pk')),
      }),
    );
  }
  return policies;
}

/** `"burst";r=50;t=30`, also by the names that may come: `a`, `w` and `c`. */
export function readNamed(members: readonly Member[]): DraftPolicy[] {
  const readings: DraftPolicy[] = [];
  for (const { key, item, parameters } of members) {
    if (key !== undefined || item.type !== 'text') continue;
    readings.push(
      present<DraftPolicy>({
        name: item.value,
        limit: amountOf(parameters.get('q')),
        remaining: wholeOf(parameters.get('r') ?? parameters.get('a')),
        resetAfterMs: durationOf(parameters.get('t') ?? parameters.get('w')),
        partitionKey: bytesOf(parameters.get('pk')),
        cost: amountOf(parameters.get('c')),
      }),
    );
  }
  return readings;
}

/** `limit=100, remaining=50, reset=30`; some write semicolons. */
export function readDictionary(members: readonly Member[]): Reading {
  const said = new Map<string, BareItem>();
  for (const { key, item, parameters } of members) {
    if (key === undefined) continue;
    said.set(key, item);
    for (const [name, value] of parameters) said.set(name, value);
  }
  return present<Reading>({
    limit: amountOf(said.get('limit')),
    remaining: wholeOf(said.get('remaining')),
    resetAfterMs: durationOf(said.get('reset')),
  });
}

/** A number of 0 or more. */
export function amountOf(item: BareItem | undefined): number | undefined {
  return item?.type === 'number' && item.value >= 0 ? item.value : undefined;
}

/** Whole units, and a part of one is none. */
export function wholeOf(item: BareItem | undefined): number | undefined {
  const amount = amountOf(item);
  return amount === undefined ? undefined : Math.floor(amount);
}

/** Milliseconds of a number of seconds. */
function durationOf(item: BareItem | undefined): number | undefined {
  const seconds = amountOf(item);
  return seconds === undefined ? undefined : boundedMs(seconds * 1000);
}

function textOf(item: BareItem | undefined): string | undefined {
  return item?.type === 'text' ? item.value : undefined;
}

function bytesOf(item: BareItem | undefined): string | undefined {
  return item?.type === 'bytes' ? item.value : undefined;
}

/** Requests need no word. The draft's text calls them `requests`, its table `request`. */
function unitOf(unit: string | undefined): string | undefined {
  return unit === 'requests' || unit === 'request' ? undefined : unit;
}
