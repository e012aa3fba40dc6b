/** Where an answer goes that nobody is there for. */
import type { Sink } from '../exchange.ts';

export const nowhere: Sink = {
  write: () => true,
  end() {},
  abort() {},
  whenDrained(act) {
    process.nextTick(act);
  },
};
