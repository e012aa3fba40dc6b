import {
  type Bench,
  calls,
  crawlMs,
  halfRateMs,
  perMinute,
  perMonth,
  standardCases,
} from '../../../../../bench/cases.ts';
import { slidingSlots } from './sliding-slots.ts';

const slotCounts = [10, 60, 600];
const busy = { limit: 100_000, window: perMinute.window };

const bench: Bench = {
  name: 'sliding-slots',
  cases: [
    ...standardCases(slidingSlots),
    // With 60 slots or more every call opens a new one, and the window is summed anew: the slow case.
    ...slotCounts.map((slots) =>
      calls(`check, 1 key, ${slots} slots`, {
        policy: slidingSlots({ ...perMinute, slots }),
        clock: halfRateMs(perMinute),
        allowed: true,
      }),
    ),
    ...slotCounts.map((slots) =>
      calls(`check, 1 key, ${slots} slots, many calls per slot`, {
        policy: slidingSlots({ ...busy, slots }),
        clock: halfRateMs(busy),
        allowed: true,
      }),
    ),
    ...slotCounts.map((slots) =>
      calls(`check, refused, ${slots} slots`, {
        policy: slidingSlots({ ...perMonth, slots }),
        clock: crawlMs,
        allowed: false,
      }),
    ),
  ],
};
export default bench;
