/** `CL.THROTTLE key max_burst count_per_period period [quantity]`, word for word as redis-cell. This is the path that has to be fast. */
import type { Service, ThrottleNumbers, ThrottleReply } from '../../service/service.ts';
import { ThrottleError } from '../../service/throttle.ts';
import type { Command } from '../command.ts';
import type { ReplyWriter } from '../reply-writer.ts';
import type { Turn } from '../turn.ts';

const usage = 'Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]';

export function throttleCommand(service: Pick<Service, 'throttle'>): Command {
  // Most clients send the same numbers over and over: as long as they do, no object is made for them.
  let numbers: ThrottleNumbers = { maxBurst: 0, count: 0, periodSeconds: 0 };
  let quantity = 1;
  /** Of the command whose numbers these are. */
  let shape = -1;

  function run(turn: Turn): void {
    const { reader } = turn;
    if (reader.shape === shape) turn.mustBeKey(1);
    else learn(turn);
    const answer = service.throttle(turn.buffer, reader.starts[1]!, reader.stops[1]!, numbers, quantity);
    if (answer instanceof Promise) turn.defer(answer, writeThrottle);
    else writeThrottle(turn.writer, answer);
  }

  function learn(turn: Turn): void {
    const { reader } = turn;
    // redis-cell checks this itself, with an error of its own, so Redis' check of the arity lets everything through.
    if (reader.count !== 5 && reader.count !== 6) throw new ThrottleError(usage);
    turn.mustBeKey(1);
    const maxBurst = integer(turn, 2);
    const count = integer(turn, 3);
    const periodSeconds = integer(turn, 4);
    quantity = reader.count === 6 ? integer(turn, 5) : 1;
    if (numbers.maxBurst !== maxBurst || numbers.count !== count || numbers.periodSeconds !== periodSeconds) {
      numbers = { maxBurst, count, periodSeconds };
    }
    shape = reader.shape;
  }

  return {
    name: 'cl.throttle',
    arity: -1,
    summary: 'Takes from a bucket that drains at a steady rate, and says what is left (as redis-cell).',
    group: 'module',
    keyAt: 1,
    run,
  };
}

function integer(turn: Turn, i: number): number {
  const value = turn.integer(i);
  if (Number.isNaN(value)) throw new ThrottleError(`Couldn't parse as integer: ${turn.text(i).slice(0, 128)}`);
  return value;
}

function writeThrottle(writer: ReplyWriter, reply: ThrottleReply): void {
  const { limited, limit, remaining, retryAfterSeconds, resetAfterSeconds } = reply;
  writer.fiveIntegers(limited, limit, remaining, retryAfterSeconds, resetAfterSeconds);
}
