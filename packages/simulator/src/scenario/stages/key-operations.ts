/** What is done to a key of the limit, by the library's own operations, and what came of it. */
import type { Decision, Limiter } from 'sluice';
import { andThen, type Eventual } from '../eventual.ts';
import type { LimitOperation } from '../scenario.ts';
import type { OperationLog } from './operation-log.ts';

export type KeyOperation = Exclude<LimitOperation, { readonly do: 'release' | 'set-clock' }>;

/** What changes a key, and is told by what is left afterwards. */
type Change = Exclude<KeyOperation, { readonly do: 'reserve' | 'take' | 'peek' }>;

/** Does it at that time of the limit's clock. Returns how much was granted: what `take` got, and 0 for all else. */
export type OperateOnKey = (operation: KeyOperation, atMs: number) => Eventual<number>;

export interface KeyOperationsOptions {
  readonly limit: Limiter<'sync' | 'async'>;
  readonly keyOf: (key: string) => string;
  readonly log: OperationLog;
  /** Does something so long after now, and tells it the time of the limit's clock. */
  readonly later: (afterMs: number, action: (atMs: number) => Eventual<void>) => void;
}

export function keyOperations({ limit, keyOf, log, later }: KeyOperationsOptions): OperateOnKey {
  function reserve(operation: KeyOperation & { readonly do: 'reserve' }, key: string, atMs: number): Eventual<number> {
    const { cost, expiresMs, settle } = operation;
    const reserved = limit.reserve(key, cost, expiresMs === undefined ? { atMs } : { atMs, expiresIn: expiresMs });
    return andThen(reserved, ({ allowed, decision, commit, cancel }) => {
      log.say('reserve', allowed, decision.remaining);
      if (settle)
        later(settle.afterMs, (settledMs) => {
          const { actual } = settle;
          const options = { atMs: settledMs };
          const ended = actual === 'cancel' ? cancel(options) : commit(actual, options);
          return andThen(ended, (wasOpen) =>
            andThen(limit.peek(key, { cost: 0, atMs: settledMs }), ({ remaining }) =>
              log.say(actual === 'cancel' ? 'cancel' : 'commit', wasOpen, remaining),
            ),
          );
        });
      return 0;
    });
  }

  return (operation, atMs) => {
    const key = keyOf(operation.key);
    switch (operation.do) {
      case 'reserve':
        return reserve(operation, key, atMs);
      case 'take':
        return andThen(limit.take(key, operation.cost, { atMs }), ({ granted = 0 }) => {
          log.say('take', granted);
          return granted;
        });
      case 'peek':
        return andThen(limit.peek(key, { cost: operation.cost, atMs }), ({ allowed, remaining }) => {
          log.say('peek', allowed, remaining);
          return 0;
        });
      default:
        return andThen(changed(operation, key, atMs), ({ remaining }) => {
          log.say(operation.do, remaining);
          return 0;
        });
    }
  };

  function changed(operation: Change, key: string, atMs: number): Eventual<Decision> {
    switch (operation.do) {
      case 'penalize':
        return limit.penalize(key, { cost: operation.cost, atMs });
      case 'reward':
        return limit.reward(key, { cost: operation.cost, atMs });
      case 'reset':
        return limit.reset(key, { atMs });
      case 'block':
        return limit.block(key, operation.forMs, { atMs });
    }
  }
}
