/** The nine algorithms, each with a policy of about 10 calls per 10 seconds, and the expression that makes it. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingSlots,
  slidingWindow,
  smooth,
  tokenBucket,
} from 'sluice';

export interface Contender {
  readonly policy: Policy;
  /** The policy as one would write it in code. */
  readonly expression: string;
  /** What to look for in its picture. */
  readonly remark: string;
}

const rate = { limit: 10, window: '10s' } as const;
export const windowMs = 10_000;

export const contenders: readonly Contender[] = [
  contender(tokenBucket, { ...rate, burst: 10 }, '10 at once after a rest, then one a second'),
  contender(gcra, { ...rate, burst: 5 }, 'the same arithmetic with a smaller burst'),
  contender(leakyBucket, { ...rate, burst: 5 }, 'queues 5 and lets them out evenly'),
  contender(fixedWindow, rate, 'starts again at each boundary: watch bursty'),
  contender(slidingLog, rate, 'exact: never more than 10 in any 10 s'),
  contender(slidingSlots, { ...rate, slots: 20 }, 'as strict, with 20 counters per key'),
  contender(slidingWindow, rate, 'two counters, an estimate'),
  contender(smooth, { ...rate, maxDelay: '3s' }, 'spreads calls evenly; delays up to 3 s'),
  contender(concurrency, { limit: 2, lease: '5s' }, 'no rate: 2 at a time, each held about 0.7 s'),
];

/** One set of options makes both the policy and its text, so that the two cannot disagree. */
function contender<O extends object>(factory: (options: O) => Policy, options: O, remark: string): Contender {
  return { policy: factory(options), expression: expressionOf(factory.name, options), remark };
}

export function expressionOf(factory: string, options: object): string {
  const fields = Object.entries(options).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`,
  );
  return `${factory}({ ${fields.join(', ')} })`;
}
