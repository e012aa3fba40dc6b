/**
 * What requests did in a shard that is never refused, by their ids. It goes where the shard goes, to its standby and to its next owner, because a request
 * that is sent again may find another owner than the first time. Carried out anew, what gives back would free what others have taken since, and an old
 * block would replace a later one.
 *
 *      request ──► owner: done ──► (answer lost) ──► sent again ──► known: it is only looked at
 *                     └──── copied, or handed over ──► next owner ──┘
 *
 * What takes something, and may be refused, is counted twice instead: that refuses more, and never less.
 *
 * By check, not by batch: what was sent to one owner comes in parts when the keys have several by then.
 *
 * An owner and its copy have to agree on what is known, or the copy would do what its owner did not: by the time of the step, whatever the clock shows,
 * and by the same bound.
 */
import type { Check } from 'sluice';
import { settledForMs } from 'sluice/client';
import type { OwnedCheck } from './owned-policy.ts';

export type SavedDone = readonly (readonly [text: string, untilMs: number])[];

// As batches over several owners name their steps.
export const reserveStep = ' reserve';
export const cancelStep = ' cancel';

// Longer than anybody sends again what was not answered.
const keptMs = 10_000;
const mostKept = 10_000;

export class DoneOnce {
  /** Until when, on the shard's own time; the oldest first. */
  private readonly all: Map<string, number>;

  constructor(saved: SavedDone = []) {
    this.all = new Map(saved);
  }

  save(nowMs: number): SavedDone {
    return [...this.all].filter(([, untilMs]) => untilMs > nowMs);
  }

  has(check: OwnedCheck, nowMs: number): boolean {
    if (check.once === undefined || !isDoneOnce(check)) return false;
    return (this.all.get(textOf(check)) ?? nowMs) > nowMs;
  }

  add(check: OwnedCheck, nowMs: number): void {
    if (check.once === undefined || !isDoneOnce(check)) return;
    for (const [oldest, untilMs] of this.all) {
      if (untilMs > nowMs && this.all.size < mostKept) break;
      this.all.delete(oldest);
    }
    this.all.set(textOf(check), nowMs + keptMs + settledForMs([check]));
  }
}

// Of a lease its receipt says whether it was given back, and a renewal is another each time.
const doneOnce: readonly Check['operation'][] = ['penalize', 'reward', 'settle', 'reset', 'block'];

export function isDoneOnce({ operation }: Check): boolean {
  return doneOnce.includes(operation);
}

/** A reservation is settled once, with whatever was really used. */
function textOf({ once, name, key, operation, cost, receipt }: OwnedCheck): string {
  return JSON.stringify([once, name, key, operation, cost, receipt]);
}

/** What a batch over several owners gives back because one refused. By itself it is never sent again: with its batch it is reserved anew. */
export function isCancel(requestId: string): boolean {
  return requestId.endsWith(cancelStep);
}

/** The id of a request, whether it came as a whole or, because its keys have several owners, in parts. */
export function onceOf(requestId: string): string {
  return requestId.replace(/( reserve)+$/, '');
}
