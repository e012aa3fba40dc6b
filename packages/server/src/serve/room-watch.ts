/**
 * Says in the log, now and then, that memory refuses whom it does not know yet. It is looked at instead of being told: the threads refuse by
 * themselves, and a check must not pay for it.
 */
import { type Clock, monotonicClock } from 'sluice';
import { occasionalLog } from '../operations/occasional-log.ts';
import type { Log } from '../service/log.ts';

const everyMs = 1000;

export interface Roomy {
  stats(): { readonly refusedNewcomers: number };
}

export function watchRoom(memories: readonly Roomy[], log: Log, clock: Clock = monotonicClock): { end(): void } {
  const refused = () => memories.reduce((sum, memory) => sum + memory.stats().refusedNewcomers, 0);
  const sparingly = occasionalLog(log, { clock });
  const stop = new AbortController();
  // What an earlier run refused may be among them.
  const before = refused();
  let known = before;

  async function watch(): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, stop.signal);
      const now = refused();
      if (now > known)
        sparingly.warn({ refused: now - before }, 'the memory is full: new keys are refused; raise store.maxKeys');
      known = now;
    }
  }

  watch().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return { end: () => stop.abort() };
}
