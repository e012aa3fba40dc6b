/** The memory store of a limiter that shares with nobody: one name, one check at a time, no snapshots, little code. */
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';
import type { Check, Store } from '../store.ts';
import { momentOf } from './moment.ts';
import { namespaceOf, storeFull } from './namespace.ts';
import { roomFor } from './room.ts';

export function privateStore(name: string, clock: Clock = monotonicClock, maxKeys?: number): Store<'sync'> {
  const room = roomFor(maxKeys);
  const { ask, answer } = namespaceOf(name, room, clock.stalenessMs);
  return {
    mode: 'sync',
    clock,
    apply([check], atMs) {
      const moment = momentOf(clock, atMs);
      const question = ask(check as Check, 0, moment);
      const isFull = question.isNewcomer && !room.make(1, question.table.algorithm.strict, moment);
      const decision = answer(question, question.waitMs === 0 && !isFull, moment);
      return [isFull ? { ...decision, ...storeFull } : decision];
    },
  };
}
