/** The plainest way to be many: each instance has its share, and nobody talks to anybody. */
import type { Check, Store } from '../../stores/store.ts';
import { andThen, type Mode } from '../../vocabulary/answer.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, type Policy } from '../../vocabulary/policy.ts';
import { oneStore } from '../ask.ts';
import { shareOf } from '../share.ts';

export interface SplitOptions {
  /** How many instances there are: a whole number above 0. */
  readonly instances: number;
  /** Which of them this is, from 0. With it nothing is lost to rounding; without it every share is rounded down. */
  readonly index?: number;
}

/** The layer; wraps one store. */
export type SplitLayer = <M extends Mode>(store: Store<M>) => Store<M>;

export function split(options: SplitOptions): SplitLayer {
  knownFields('split', options, 'instances index');
  const { instances, index } = options;
  if (!Number.isInteger(instances) || instances < 1) throw invalid('instances', 'a whole number above 0', instances);
  if (index !== undefined && !(Number.isInteger(index) && index >= 0 && index < instances))
    throw invalid('index', `a whole number from 0 to ${instances - 1}`, index);
  const shares = new WeakMap<Policy, Policy>();
  const mustBeOnly = oneStore('split');

  function shared(policy: Policy): Policy {
    const share = shares.get(policy) ?? shareOf(policy, { instances, index });
    if (share === undefined) {
      const { algorithm, limit, burst } = policy;
      const got = `${algorithm} with limit ${limit}${burst === undefined ? '' : ` and burst ${burst}`}`;
      throw invalid(
        'limit and burst',
        `enough for ${instances} instances to have one unit each`,
        got,
        'Raise it, or count in one place: redisStore().',
      );
    }
    shares.set(policy, share);
    return share;
  }

  return <M extends Mode>(store: Store<M>): Store<M> => {
    mustBeOnly(store);
    return {
      mode: store.mode,
      clock: store.clock,
      apply: ((checks: readonly Check[], atMs?: number, requestId?: string) =>
        andThen(
          store.apply(
            checks.map((check) => ({ ...check, policy: shared(check.policy) })),
            atMs,
            requestId,
          ),
          (decisions) => decisions.map((decision, i) => ({ ...decision, policy: checks[i]!.policy })),
        )) as Store<M>['apply'],
    };
  };
}
