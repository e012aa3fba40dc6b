/**
 * What a policy would have refused, line by line while the log is read: it sees every line, also where the trace had to be thinned, and therefore
 * knows what was called. Memory is bounded: clients are remembered by fingerprints, names of the most refused by a sketch. Where the clients do not fit
 * it ends: from then on it would tell what a full store refuses, at the price of a search for room with each line.
 *
 * A line that is earlier than the one before counts as the latest seen, as everywhere in the library.
 */
import { limiter, type MemoryStore, memoryStore, type Policy } from 'sluice';
import type { ByteRange, LogLine } from '../log/log-line.ts';
import { canDelay, mustBeARate } from './client-replay.ts';
import { type CountedName, HeavyNames } from './heavy-names.ts';
import { ReplayClock } from './replay-clock.ts';
import { replayRoom } from './replay-room.ts';
import { ratio } from './what-if.ts';

export interface PolicyReplayOptions {
  /** What may be remembered of clients at once; how many these are depends on the policy. Default 256,000,000. */
  readonly maxBytes?: number | undefined;
  /** How many names the report has of each kind. Default 10. */
  readonly top?: number | undefined;
}

export interface PolicyReplay {
  take(line: LogLine): void;
  report(): PolicyReplayReport;
}

export interface PolicyReplayReport {
  readonly policy: Policy;
  readonly calls: number;
  readonly refusedCalls: number;
  readonly refusedCallRatio: number;
  readonly cost: number;
  readonly refusedCost: number;
  /** Calls that pass and are held back first. */
  readonly delayedCalls: number;
  /** What was refused most: method and path. Empty where the log does not say. */
  readonly routes: readonly CountedName[];
  readonly clients: readonly CountedName[];
  /** What the refused calls were answered in the log; 0: it does not say. */
  readonly statuses: readonly { readonly status: number; readonly refusedCalls: number }[];
  /** There were more clients than can be remembered: the replay ended there, and what it has counted says nothing of the log. */
  readonly isBeyondMemory: boolean;
}

const counters = 2048;
const looksEvery = 256;
const statusesEnd = 1000;

export function policyReplay(policy: Policy, options: PolicyReplayOptions = {}): PolicyReplay {
  mustBeARate(policy);
  const { maxBytes = 256e6, top = 10 } = options;
  const clock = new ReplayClock(Number.NEGATIVE_INFINITY);
  const room = replayRoom(policy, maxBytes);
  let store: MemoryStore | undefined = memoryStore({ clock, maxKeys: room.maxClients, keys: 'fingerprint' });
  let ask: ((client: ByteRange, cost: number) => boolean) | undefined;
  const counts = { calls: 0, refusedCalls: 0, cost: 0, refusedCost: 0, delayedCalls: 0 };
  const routes = new HeavyNames(counters);
  const clients = new HeavyNames(counters);
  const statuses = new Float64Array(statusesEnd);
  const decoder = new TextDecoder();
  const textOf = ({ bytes, start, end }: ByteRange) => decoder.decode(bytes.subarray(start, end));

  /** The limiter begins when the log does: some algorithms reward the idle time since then. */
  function asking(from: MemoryStore): NonNullable<typeof ask> {
    const limit = limiter(policy, { store: from, name: 'replay' });
    if (!canDelay(policy)) return ({ bytes, start, end }, cost) => limit.allowBytes(bytes, start, end, cost);
    return ({ bytes, start, end }, cost) => {
      const { allowed, delayMs } = limit.checkBytes(bytes, start, end, cost);
      if (allowed && delayMs > 0) counts.delayedCalls += 1;
      return allowed;
    };
  }

  return {
    take(line) {
      if (store === undefined) return;
      if (line.atMs > clock.nowMs) clock.nowMs = line.atMs;
      ask ??= asking(store);
      counts.calls += 1;
      counts.cost += line.cost;
      const isAllowed = ask(line.client, line.cost);
      room.note(clock.nowMs, isAllowed);
      // Who is refused may be the first that did not fit. Who was forgotten for a newcomer is found out a little later.
      if ((!isAllowed || counts.calls % looksEvery === 0) && room.isExceededBy(store.stats())) {
        store = undefined;
        ask = undefined;
        return;
      }
      if (isAllowed) return;
      counts.refusedCalls += 1;
      counts.refusedCost += line.cost;
      clients.count(textOf(line.client));
      if (line.route.end > line.route.start) routes.count(textOf(line.route));
      statuses[line.status < statusesEnd ? line.status : 0]! += 1;
    },
    report() {
      return {
        policy,
        ...counts,
        refusedCallRatio: ratio(counts.refusedCalls, counts.calls),
        routes: routes.top(top),
        clients: clients.top(top),
        statuses: [...statuses.entries()]
          .map(([status, refusedCalls]) => ({ status, refusedCalls }))
          .filter(({ refusedCalls }) => refusedCalls > 0)
          .sort((a, b) => b.refusedCalls - a.refusedCalls),
        isBeyondMemory: store === undefined || room.isExceededBy(store.stats()),
      };
    },
  };
}
