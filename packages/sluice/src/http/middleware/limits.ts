/** What the options limit, as one question: may this request have so much? */
import { algorithmOf, canDelay } from '../../algorithms/algorithm.ts';
import { type DegradeOptions, degrade } from '../../layers/degrade/degrade.ts';
import { checkSubnet, networkOf } from '../../limit/ip-address.ts';
import { limiter } from '../../limit/limiter.ts';
import { type Rule, type Rules, type RulesResult, rules } from '../../limit/rules.ts';
import type { Subject } from '../../limit/subject.ts';
import type { Store } from '../../stores/store.ts';
import { type Answer, andThen, type Mode } from '../../vocabulary/answer.ts';
import { monotonicClock } from '../../vocabulary/clock.ts';
import type { Decision } from '../../vocabulary/decision.ts';
import { parseDuration } from '../../vocabulary/duration.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { oneOf, type Policy } from '../../vocabulary/policy.ts';
import { ownText } from '../own-text.ts';
import type { AddressReader } from './address.ts';
import type { RateLimitOptions, SharedRules } from './options.ts';
import type { RequestReader } from './request-reader.ts';

export interface Asked {
  readonly result: RulesResult;
  /** Ends what was taken, with the true cost where it is known. Absent where there is nothing to end. */
  readonly settle?: (actual: number | undefined) => Answer<unknown>;
}

/** Whether the request may have so much. */
export type Ask<Request> = (request: Request, cost: number) => Answer<Asked>;

/** The store did not answer, and nothing stands in for it. */
export const notAnswered: Asked = { result: { allowed: false, tightest: undefined, decisions: [] } };

type AnyOptions = RateLimitOptions<never, never, unknown>;
type AnyRules = Pick<Rules<Mode>, 'check' | 'reserve' | 'release'>;

export const defaultName = 'default';
const defaultAfter = '1s';

export function limitsOf<Request, Response>(
  options: RateLimitOptions<Request, Response, unknown>,
  reader: RequestReader<Request>,
  address: AddressReader<Request>,
): Ask<Request> {
  const { policy, costAfter, ipv6Subnet = 56 } = options;
  checkSubnet(ipv6Subnet);
  const maxDelayMs = parseDuration(options.maxDelay ?? '30s', 'maxDelay');
  const expiresIn = parseDuration(options.expiresIn ?? '1m', 'expiresIn');
  const keyOf = keyReader(options, address, ipv6Subnet);
  const store = storeOf(options);

  if (typeof policy === 'object' && isPlain(policy, options)) {
    const { name = defaultName, clock, maxKeys } = options;
    const one = limiter<Policy, Mode>(policy, { name, ...definedOnly({ store, clock, maxKeys }) });
    return (request, cost) => {
      const key = keyOf(request);
      // The way of most requests: nothing is made on it that does not go into the answer.
      const decision = typeof key === 'string' ? one.check(key, cost) : key.then((known) => one.check(known, cost));
      return andThen(decision, asAsked);
    };
  }

  const all = rulesOf(options, store);
  const subjectOf = policy === undefined ? subjectReader(options, reader, address) : keyed(policy, keyOf);
  const bounded = isShared(options.rules) ? inTime : (asked: Answer<Asked>) => asked;
  return (request, cost) => andThen(subjectOf(request), (subject) => bounded(askRules(subject, cost)));

  function askRules(subject: Subject, cost: number): Answer<Asked> {
    if (costAfter === undefined) {
      return andThen(all.check(subject, { cost, maxDelayMs }), (result) =>
        hasLease(result) ? { result, settle: () => all.release(result) } : { result },
      );
    }
    const reserved: Answer<{ result: RulesResult; commit(actual: number): Answer<unknown> }> = all.reserve(subject, {
      cost,
      maxDelayMs,
      expiresIn,
    });
    return andThen(reserved, (reservation) => ({
      result: reservation.result,
      settle: (actual = cost) => reservation.commit(actual),
    }));
  }
}

function asAsked(decision: Decision): Asked {
  return { result: { allowed: decision.allowed, tightest: decision, decisions: [decision] } };
}

/** Nothing but a check of one policy that never delays, is never given back and always refuses: the limiter's short way. */
function isPlain(policy: Policy, { costAfter, shadow }: AnyOptions): boolean {
  const { release } = algorithmOf(policy);
  return costAfter === undefined && shadow !== true && release === undefined && !canDelay(policy);
}

function hasLease({ allowed, decisions }: RulesResult): boolean {
  return allowed && decisions.some(({ receipt }) => receipt !== undefined);
}

/** The store, and what to do when it fails where it can. */
function storeOf({ store, onStoreFailure }: AnyOptions): Store | undefined {
  const how: DegradeOptions =
    typeof onStoreFailure === 'object'
      ? onStoreFailure
      : { to: oneOf('onStoreFailure', onStoreFailure, ['closed', 'open', 'local']) ?? 'closed' };
  const layer = degrade({ after: defaultAfter, ...how });
  return store === undefined || store.mode === 'sync' ? store : layer(store);
}

function rulesOf(options: AnyOptions, store: Store | undefined): AnyRules {
  const { name = defaultName, policy, shadow, clock, maxKeys, ipv6Subnet } = options;
  if (isShared(options.rules)) return sharedRules(options.rules, options);
  const list = policy === undefined ? listOf(options.rules) : [keyedRule(name, policy)];
  return rules<Mode>(
    shadow === true ? list.map((rule) => ({ ...rule, shadow })) : list,
    definedOnly({ store, clock, maxKeys, ipv6Subnet }),
  );
}

function listOf(list: unknown): readonly Rule[] {
  if (Array.isArray(list)) return list;
  throw invalid('rules', 'a list of rules, or what rules() made of one', list);
}

export function isShared(given: unknown): given is SharedRules {
  return typeof (given as Partial<SharedRules> | undefined)?.check === 'function';
}

/** Rules that were made elsewhere have a store, a clock and subnets already. */
function sharedRules(given: SharedRules, options: AnyOptions): AnyRules {
  for (const field of ['store', 'clock', 'maxKeys', 'onStoreFailure', 'ipv6Subnet', 'shadow'] as const) {
    if (options[field] !== undefined)
      throw invalid(field, 'left out beside what rules() made', options[field], 'Give it to rules().');
  }
  return given as AnyRules;
}

/** A request must not wait for ever for rules that were made elsewhere, and whose store does not answer. */
function inTime(asked: Answer<Asked>): Answer<Asked> {
  if (!(asked instanceof Promise)) return asked;
  return new Promise((resolve, reject) => {
    const answered = new AbortController();
    let isLate = false;
    asked
      .then((known) => {
        answered.abort();
        resolve(known);
        // Whoever was let in too late was told to come back: the place that was taken is free again.
        return isLate && known.result.allowed ? known.settle?.(undefined) : undefined;
      })
      .catch(reject);
    monotonicClock.sleep(parseDuration(defaultAfter), answered.signal).then(
      () => {
        isLate = true;
        resolve(notAnswered);
      },
      // There is an answer already.
      () => undefined,
    );
  });
}

/** One policy as a rule, for what only rules can do. The key, and a policy by request, come with the subject. */
function keyedRule(name: string, policy: Policy | ((request: never) => Policy)): Rule {
  const key = (subject: Subject) => subject.key as string;
  return { name, key, policy: typeof policy === 'function' ? (subject) => subject.policy as Policy : policy };
}

function keyed<Request>(
  policy: Policy | ((request: Request) => Policy),
  keyOf: (request: Request) => Answer<string>,
): (request: Request) => Answer<Subject> {
  if (typeof policy !== 'function') return (request) => andThen(keyOf(request), (key) => ({ key }));
  return (request) => andThen(keyOf(request), (key) => ({ key, policy: policy(request) }));
}

/** Somebody without a key is limited too, by address: or leaving out an API key would be the way around the limit. */
function keyReader<Request>(
  { key }: Pick<RateLimitOptions<Request, never, unknown>, 'key'>,
  address: AddressReader<Request>,
  ipv6Subnet: number,
): (request: Request) => Answer<string> {
  const networkKey = (request: Request) => networkOf(address.of(request), ipv6Subnet);
  if (key === undefined) return networkKey;
  // Marked, so that nobody is limited together with an address by the name he chose.
  return (request) =>
    andThen(address.whileHere(request, key(request)), (known) =>
      known === undefined || known === null || known === '' ? `ip:${networkKey(request)}` : ownKey(known, ipv6Subnet),
    );
}

/** A caller's key as the store has it. One that is an address counts as addresses do, or each of a subnet would be another caller. */
function ownKey(key: string | number, ipv6Subnet: number): string {
  if (typeof key !== 'string' && typeof key !== 'number')
    throw invalid('key', 'text', key, 'An object is the same text for all.');
  const text = networkOf(ownText(String(key)), ipv6Subnet);
  // Not to be taken for an address, nor for a key that was marked like this.
  return text.startsWith('ip:') || text.startsWith('key:') ? `key:${text}` : text;
}

function subjectReader<Request>(
  { subject }: Pick<RateLimitOptions<Request, never, unknown>, 'subject'>,
  reader: RequestReader<Request>,
  address: AddressReader<Request>,
): (request: Request) => Answer<Subject> {
  const usual = (request: Request) => ({
    // Looked for when a rule goes by it: only then is it a mistake that there is none.
    get ip() {
      return address.of(request);
    },
    set ip(own) {
      Object.defineProperty(this, 'ip', { value: own, enumerable: true });
    },
    method: reader.method(request),
    path: reader.path(request),
  });
  if (subject === undefined) return usual;
  return (request) =>
    andThen(address.whileHere(request, subject(request)), (own) => Object.assign(usual(request), withOwnTexts(own)));
}

/** Rules have their keys from the fields. */
function withOwnTexts(subject: Subject): Subject {
  const own: Record<string, unknown> = { ...subject };
  for (const field in own) if (typeof own[field] === 'string') own[field] = ownText(own[field]);
  return own;
}

/** Without the fields that were not given. */
function definedOnly<T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
