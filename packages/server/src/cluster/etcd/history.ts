/**
 * What an etcd has already said about itself, so that one which has gone back is noticed.
 *
 *   sent at ──────────── floor: the highest revision that any answer had by then
 *   answered ─────────── revision >= floor, or this is not the etcd that gave those answers
 *
 * The floor is taken when a question is sent: answers to questions that were under way together may arrive in any order.
 *
 * A restored backup starts at an older revision and catches up, after which no number tells. So a *change* that was answered behind the floor
 * ends all trust. A mere reading does not: a member that was paused may answer one with what it knew before (etcd without the fix of
 * etcd-io/etcd#20418). Its answer is thrown away like the other.
 */
import { SluiceError } from 'sluice';
import type { AnswerHeader } from './gateway-form.ts';

export interface History {
  /** What an answer to a question that is sent now must at least have. Throws when nothing of this etcd can be trusted any more. */
  floor(): number;
  /** Throws `store-unsafe` when that cannot follow upon what was said before. */
  accept(header: AnswerHeader, told: { readonly floor: number; readonly isChange: boolean }): void;
}

export function history(): History {
  let clusterId: string | undefined;
  let highest = 0;
  let lost: SluiceError | undefined;
  return {
    floor() {
      if (lost) throw lost;
      return highest;
    },
    accept(header, { floor, isChange }) {
      if (lost) throw lost;
      clusterId ??= header.clusterId;
      if (header.clusterId !== clusterId) throw goneBack(`its cluster is ${header.clusterId} and was ${clusterId}`);
      if (header.revision < floor) {
        const error = goneBack(`its revision is ${header.revision} and was ${floor} before`);
        if (isChange) lost = error;
        throw error;
      }
      highest = Math.max(highest, header.revision);
    },
  };
}

function goneBack(how: string): SluiceError {
  return new SluiceError(
    'store-unsafe',
    `etcd has gone back: a backup was restored, or this is another cluster (${how}). Nothing it says can be trusted.`,
  );
}
