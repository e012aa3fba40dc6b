/**
 * How many clients a replay can remember in so many bytes. Most algorithms keep a few numbers per client; slots are numbers too, and a log has an
 * entry for each call of the last window, of which there may be as many as the limit.
 *
 *      gcra, ...         │ hash │ few numbers │
 *      sliding-slots     │ hash │ slots ··························· │
 *      sliding-log       │ hash │ ──► │ first entries │ + what came in this window and in the one before: counted as it comes, as hardly
 *                                                      anybody reaches the limit
 */
import type { MemoryStore, Policy } from 'sluice';

const fewNumbersBytes = 64;
/** Of each slot, with what the table leaves free. */
const slotBytes = 10;
/** An array of its own, with the first entries. */
const logBytes = 320;
/** Two numbers, in a ring that may be half empty. */
const entryBytes = 32;

export interface ReplayRoom {
  readonly maxClients: number;
  /** A call was asked about. */
  note(nowMs: number, isAllowed: boolean): void;
  isExceededBy(stats: ReturnType<MemoryStore['stats']>): boolean;
}

export function replayRoom(policy: Policy, maxBytes: number): ReplayRoom {
  const bytesEach = bytesPerClient(policy);
  const { window = 1, countRejected = false } = policy as Policy & { readonly countRejected?: boolean };
  const isLog = policy.algorithm === 'sliding-log';
  let period = Number.NaN;
  let [entries, entriesBefore] = [0, 0];

  return {
    maxClients: Math.max(1, Math.floor(maxBytes / bytesEach)),
    note(nowMs, isAllowed) {
      if (!isLog) return;
      const current = Math.floor(nowMs / window);
      if (current !== period) {
        entriesBefore = current === period + 1 ? entries : 0;
        entries = 0;
        period = current;
      }
      if (isAllowed || countRejected) entries += 1;
    },
    isExceededBy({ keys, evictedLiveKeys, refusedNewcomers }) {
      if (evictedLiveKeys + refusedNewcomers > 0) return true;
      return keys * bytesEach + (entries + entriesBefore) * entryBytes > maxBytes;
    },
  };
}

function bytesPerClient(policy: Policy): number {
  const { algorithm, slots = 0 } = policy as Policy & { readonly slots?: number };
  return algorithm === 'sliding-log' ? logBytes : fewNumbersBytes + slots * slotBytes;
}
