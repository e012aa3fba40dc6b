/** An exchange within one process: for tests, for simulations, and as the plainest statement of what an exchange does. */
import { type Clock, checkClock, monotonicClock } from '../../vocabulary/clock.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { aboveZero, knownFields } from '../../vocabulary/policy.ts';
import type { Exchange, UsageMessage } from './exchange.ts';

export interface MemoryExchangeOptions {
  /** How long messages are kept. Default 1 minute. */
  readonly retain?: Duration;
  /** The most messages kept. Default 100,000. */
  readonly maxMessages?: number;
  /** Default: monotonic. */
  readonly clock?: Clock;
}

export function memoryExchange(options: MemoryExchangeOptions = {}): Exchange {
  knownFields('memoryExchange', options, 'retain maxMessages clock');
  const { maxMessages = 100_000, clock = monotonicClock } = options;
  const retainMs = parseDuration(options.retain ?? '1m', 'retain');
  aboveZero('maxMessages', maxMessages);
  checkClock(clock);
  let line: { readonly message: UsageMessage; readonly postedMs: number }[] = [];
  /** The place of the first message in the line, among all that were ever posted. */
  let firstPlace = 0;

  function drop(count: number): void {
    line = line.slice(count);
    firstPlace += count;
  }

  return {
    async exchange(message, cursor) {
      const nowMs = clock.now();
      line.push({ message, postedMs: nowMs });
      const kept = line.findIndex(({ postedMs }) => nowMs - postedMs < retainMs);
      drop(Math.max(kept, line.length - maxMessages, 0));
      const after = cursor === undefined ? firstPlace : Number(cursor);
      const messages = line
        .slice(Math.max(0, after - firstPlace))
        .map((posted) => ({ ...posted.message, ageMs: Math.floor(nowMs - posted.postedMs) }));
      return { messages, cursor: String(firstPlace + line.length), hasGap: after < firstPlace };
    },
  };
}
