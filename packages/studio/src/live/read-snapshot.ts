/** A snapshot from the text of an event. Of another version it may be something else, which is said rather than drawn wrongly. */
import type { LiveSnapshot } from './contract.ts';

export function readSnapshot(text: string): LiveSnapshot {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new Error(`it sends what is not JSON (${(error as Error).message})`);
  }
  if (isSnapshot(data)) return data;
  throw new Error('it sends what this page cannot read: is it of another version? Reload the page');
}

function isSnapshot(data: unknown): data is LiveSnapshot {
  const { version, atMs, startedAtMs, rules, durations, topRefused, store, cluster, upstreams, revision } =
    fieldsOf(data);
  const { boundsMs, counts } = fieldsOf(durations);
  const { members, owners, standbys } = fieldsOf(cluster);
  return (
    typeof version === 'string' &&
    typeof atMs === 'number' &&
    typeof startedAtMs === 'number' &&
    typeof fieldsOf(store).type === 'string' &&
    typeof fieldsOf(revision).rules === 'number' &&
    typeof fieldsOf(revision).overrides === 'number' &&
    [rules, topRefused, upstreams, boundsMs, counts].every(Array.isArray) &&
    (cluster === null || [members, owners, standbys].every(Array.isArray))
  );
}

function fieldsOf(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
}
