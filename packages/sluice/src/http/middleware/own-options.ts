/**
 * Options of its own for a part of an application, such as a route. What they do not say is as it is for the whole:
 *
 *      whole { store, key, policy: 100/min }                     every route takes from one budget
 *      own   { policy: 5/min }                                   another budget, by the same key, in the same store
 *      own   { cost: 10 }                                        the same budget, ten times as fast
 *      own   { name: 'search' }                                  the same policy, counted apart
 */
import { unsharedStore } from '../../stores/memory/open-memory.ts';
import { isShared } from './limits.ts';
import type { CommonOptions, PolicyOptions, RateLimitOptions, RulesOptions } from './options.ts';

/** What a part may say for itself: all that the whole may, but where the time comes from and how much is remembered. */
export type OwnOptions<Request, Response, Handler> = Omit<
  CommonOptions<Request, Response, Handler>,
  'clock' | 'maxKeys'
> &
  (Partial<PolicyOptions<Request>> | RulesOptions<Request>);

/** What the whole says; without a policy and without rules only its parts are limited. */
export type WholeOptions<Request, Response, Handler> = CommonOptions<Request, Response, Handler> &
  (Partial<PolicyOptions<Request>> | RulesOptions<Request>);

/** One store for the whole and its parts, so that a part can take from the budget of the whole. */
export function inOneStore<Options extends WholeOptions<never, never, unknown>>(options: Options): Options {
  const { clock, maxKeys, ...others } = options;
  if (options.store !== undefined || isShared(options.rules)) return options;
  return { ...others, store: unsharedStore({ clock, maxKeys }) } as unknown as Options;
}

/**
 * The options of a part, complete.
 *
 * @param name what a policy of its own is called by where it is not named: in one store it must not be counted with another's
 */
export function ownOptions<Request, Response, Handler>(
  whole: WholeOptions<Request, Response, Handler>,
  own: OwnOptions<Request, Response, Handler>,
  name: string,
): RateLimitOptions<Request, Response, Handler> {
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const merged = { ...inherited(whole, own), ...(own.policy !== undefined && { name }), ...said };
  return merged as unknown as RateLimitOptions<Request, Response, Handler>;
}

/** What a policy of its own replaces, and what rules of its own do. Rules made elsewhere have the others already. */
const replaced = {
  policy: ['policy', 'name', 'rules', 'subject'],
  rules: ['policy', 'name', 'rules', 'key'],
  sharedRules: [
    'policy',
    'name',
    'rules',
    'key',
    'store',
    'clock',
    'maxKeys',
    'onStoreFailure',
    'ipv6Subnet',
    'shadow',
  ],
};

function inherited(whole: object, { policy, rules }: { policy?: unknown; rules?: unknown }): object {
  let without: readonly string[] = [];
  if (policy !== undefined) without = replaced.policy;
  else if (rules !== undefined) without = isShared(rules) ? replaced.sharedRules : replaced.rules;
  return Object.fromEntries(Object.entries(whole).filter(([field]) => !without.includes(field)));
}
