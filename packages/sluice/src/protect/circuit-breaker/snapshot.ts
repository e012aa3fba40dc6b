/** A circuit breaker as plain data, for a restart that does not forget what is broken. */
import { SluiceError } from '../../vocabulary/errors.ts';

export interface CircuitBreakerSnapshot {
  readonly version: 1;
  /** Half-open is saved as open with its time over. */
  readonly state: 'closed' | 'open';
  readonly isForced: boolean;
  /** When the time open is over, in milliseconds since the epoch. */
  readonly untilMs: number;
  /** How often its probes have failed since it was last closed. */
  readonly reopenings: number;
  readonly consecutiveFailures: number;
  /** What is in the window: `[time, calls, failures, time, ...]`, oldest first. */
  readonly votes: readonly number[];
}

/** A snapshot, checked: it may come from a file that somebody edited. */
export function readSnapshot(data: CircuitBreakerSnapshot): CircuitBreakerSnapshot {
  const snapshot: Partial<Record<keyof CircuitBreakerSnapshot, unknown>> =
    typeof data === 'object' && data !== null ? data : {};
  const { version, state, isForced, untilMs, reopenings, consecutiveFailures, votes } = snapshot;
  must(version === 1, 'version', '1', version);
  must(state === 'closed' || state === 'open', 'state', '"closed" or "open"', state);
  must(typeof isForced === 'boolean', 'isForced', 'true or false', isForced);
  must(!(isForced && state === 'closed'), 'isForced', 'false in a closed circuit', isForced);
  must(Number.isFinite(untilMs), 'untilMs', 'a time', untilMs);
  must(isCount(reopenings), 'reopenings', 'a whole number', reopenings);
  must(isCount(consecutiveFailures), 'consecutiveFailures', 'a whole number', consecutiveFailures);
  must(Array.isArray(votes) && areVotes(votes), 'votes', 'a list of times, calls and failures', votes);
  return data;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Oldest first, and no more failures than calls. */
function areVotes(votes: readonly unknown[]): boolean {
  if (votes.length % 3 !== 0) return false;
  for (let i = 0; i < votes.length; i += 3) {
    const [atMs, calls, failures] = votes.slice(i, i + 3) as [number, number, number];
    const beforeMs = i === 0 ? atMs : (votes[i - 3] as number);
    if (!Number.isFinite(atMs) || atMs < beforeMs) return false;
    if (!isCount(calls) || !isCount(failures) || failures > calls) return false;
  }
  return true;
}

function must(holds: boolean, field: string, mustBe: string, got: unknown): void {
  if (!holds)
    throw new SluiceError(
      'invalid-snapshot',
      `${field} of the snapshot must be ${mustBe}, got ${JSON.stringify(got)}.`,
    );
}
