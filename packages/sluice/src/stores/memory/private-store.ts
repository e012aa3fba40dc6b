/** The memory store of a limiter that shares with nobody: one name, one check at a time, no snapshots, little code. */
import { type Clock, monotonicClock } from '../../vocabulary/clock.ts';
import { answerOnce } from '../answer-once.ts';
import type { Check, Store } from '../store.ts';
import { DirectCheck } from './direct-check.ts';
import { Moments } from './moment.ts';
import { namespaceOf, noRoom, refusable, storeFull } from './namespace.ts';
import { roomFor } from './room.ts';
import { Rows } from './rows.ts';
import type { RowsOf } from './table.ts';

export function privateStore(name: string, clock: Clock = monotonicClock, maxKeys?: number): Store<'sync'> {
  const room = roomFor(maxKeys);
  const moments = new Moments(clock);
  const rowsOf: RowsOf = (_name, cellsPerKey) => new Rows(name, cellsPerKey, 'exact');
  const namespace = namespaceOf(name, room, rowsOf, clock.stalenessMs);
  const { ask, answer } = namespace;
  return {
    mode: 'sync',
    clock,
    apply: answerOnce(
      () => clock.now(),
      (checks, atMs) => {
        const moment = moments.begin(checks, atMs, true);
        const question = ask(checks[0] as Check, 0, moment);
        const isFull = question.isNewcomer && !room.make(1, question.table.algorithm.strict, moment);
        if (isFull && !refusable(question.check.operation)) throw noRoom(question.check.key);
        if (isFull) room.stats.refusedNewcomers += 1;
        const decision = answer(question, question.waitMs === 0 && !isFull, moment);
        return [isFull ? { ...decision, ...storeFull } : decision];
      },
    ),
    direct: (_name, policy, sinceMs) => new DirectCheck(namespace, room, moments, policy, sinceMs),
  };
}
