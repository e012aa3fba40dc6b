/** The service over a store in this thread, or over Redis: rules, ad hoc policies, CL.THROTTLE and Envoy's descriptors. */
import {
  type ActiveOverride,
  type Check,
  type Decision,
  type MemoryStore,
  type Override,
  type Policy,
  type Rules,
  type RulesCall,
  type RulesResult,
  rules,
  SluiceError,
  type Store,
  type Subject,
} from 'sluice';
import type { SentCheck } from 'sluice/client';
import type { Config } from '../config/config.ts';
import type { RateLimitRequest, RateLimitResponse } from '../envoy/rate-limit-message.ts';
import type { CheckMeter } from '../operations/check-meter.ts';
import type { LiveRevision } from '../operations/live-snapshot.ts';
import type { RefusedKeys } from '../operations/refused-keys.ts';
import { AdHocPolicies, isLarge } from './ad-hoc-policies.ts';
import { andThen } from './answer.ts';
import { SentChecks, timedChecks } from './sent-checks.ts';
import type { Answer, KeyState, Service, ServiceCall, ThrottleNumbers, ThrottleReply } from './service.ts';
import { ThrottleService } from './throttle-service.ts';

/** Answers Envoy. */
export interface DescriptorLimiter {
  shouldRateLimit(request: RateLimitRequest): Answer<RateLimitResponse>;
}

export interface LocalServiceParts {
  readonly store: Store;
  /** Where CL.THROTTLE has its state. Default: in the store. */
  readonly throttleStore?: Store | undefined;
  /** Where policies of requests have their state that need much of it. Default: in the store. */
  readonly largeStore?: Store | undefined;
  /** Where checks are asked that a client decides what to do about when nobody can be sure. Default: in the store. */
  readonly sentStore?: Store | undefined;
  readonly checks: CheckMeter;
  readonly refusals: RefusedKeys;
  readonly envoy: DescriptorLimiter;
}

/** The part of a service that is the same wherever it runs: what is asked of the rules and their store. */
export function answersOf(
  local: LocalService,
): Omit<Service, 'topRefused' | 'reload' | 'status' | 'metrics' | 'readiness'> {
  return {
    check: (subject, call) => local.check(subject, call),
    checkRule: (rule, key, call) => local.checkRule(rule, key, call),
    checkPolicy: (policy, key, call) => local.checkPolicy(policy, key, call),
    apply: (checks, requestId) => local.apply(checks, requestId),
    answersAtOnce: local.answersAtOnce,
    throttle: (bytes, start, end, numbers, quantity) => local.throttle(bytes, start, end, numbers, quantity),
    shouldRateLimit: (request) => local.shouldRateLimit(request),
    ruleData: () => local.ruleData(),
    inspect: (rule, key, tier) => local.inspect(rule, key, tier),
    reset: (rule, key) => local.reset(rule, key),
    override: (rule, key, override) => local.override(rule, key, override),
    removeOverride: (rule, key) => local.removeOverride(rule, key),
    overrides: () => local.overrides(),
  };
}

/** What requests with a policy of their own are counted under. */
export const adHocRule = 'ad-hoc';

/** What the deny-list is counted under: it refuses before any rule is asked. */
const denyList = 'deny-list';

// Those that may answer "yes, but later".
const shaping: ReadonlySet<string> = new Set(['leaky-bucket', 'smooth']);

// Reading the clock costs as much as half a check, so of the checks that come whole only some are timed.
const timedEvery = 64;

export class LocalService {
  private readonly parts: LocalServiceParts;
  private readonly throttles: ThrottleService;
  private readonly adHoc = new AdHocPolicies((name) => this.forget(name));
  private readonly sent = new SentChecks();
  private untilTimed = 0;
  private ruleNames: ReadonlySet<string>;
  // Over a store that answers later its answers are promises; `andThen` minds that.
  private rules: Rules;
  private config: Config;
  private rulesRevision = 0;
  private overridesRevision = 0;
  // The places that a result holds, as the store knows them: they are renewed and given back by that, also after a reload.
  private readonly leased = new WeakMap<RulesResult, Check[]>();

  /** Whether what is asked of the store is answered in the same turn. */
  readonly answersAtOnce: boolean;

  constructor(parts: LocalServiceParts, config: Config) {
    this.parts = parts;
    this.answersAtOnce = parts.store.mode === 'sync';
    this.throttles = new ThrottleService(parts.throttleStore ?? parts.store, parts.checks, parts.refusals);
    this.config = config;
    this.ruleNames = ruleNamesOf(config);
    this.rules = rulesOf(config, parts.store);
  }

  /** Numbers that grow when the rules, or the overrides, are others than before. */
  get revision(): LiveRevision {
    return { rules: this.rulesRevision, overrides: this.overridesRevision };
  }

  /** Another configuration from the next check on. What was used stays used, and so do overrides; says which no longer fit. */
  configure(config: Config): readonly ActiveOverride[] {
    const overrides = this.rules.overrides();
    const next = rulesOf(config, this.parts.store);
    const dropped = this.carryOverrides(overrides, next);
    this.rules = next;
    this.config = config;
    this.ruleNames = ruleNamesOf(config);
    this.rulesRevision += 1;
    if (dropped.length > 0) this.overridesRevision += 1;
    return dropped;
  }

  /** The names that the store has from an earlier run: policies and names of requests among them count as if they had come in this one. */
  restoreNames(names: readonly string[]): void {
    this.adHoc.restore(names);
    this.sent.restore(names);
  }

  /** Those of an earlier run; says which no longer fit. */
  restoreOverrides(overrides: readonly ActiveOverride[]): readonly ActiveOverride[] {
    return this.carryOverrides(overrides, this.rules);
  }

  /** Says which were dropped: their rule is gone, or has become one that cannot be changed so. */
  private carryOverrides(overrides: readonly ActiveOverride[], to: Rules): readonly ActiveOverride[] {
    const nowMs = this.parts.store.clock.now();
    return overrides.filter(({ rule, key, givenKey = key, override, expiresAtMs }) => {
      if (expiresAtMs <= nowMs) return false;
      try {
        // As it was given: with another `ipv6Subnet` the same address counts under another key.
        to.override(rule, givenKey, override, expiresAtMs);
        return false;
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error;
        return true;
      }
    });
  }

  check(subject: Subject, call: ServiceCall = {}): Answer<RulesResult> {
    const startMs = performance.now();
    const { rules: asked } = this;
    return andThen(
      this.counted(() => asked.check(subject, callOf(call))),
      (result) => {
        this.parts.checks.observe(performance.now() - startMs);
        let isHolding = false;
        for (const decision of result.decisions) {
          this.count(decision);
          isHolding ||= decision.receipt !== undefined;
        }
        if (isHolding) this.leased.set(result, placesOf(asked, subject, result));
        if (result.list === 'deny') this.parts.checks.count(denyList, 'refused');
        if (!result.allowed) this.countRefusals(asked, subject, result);
        return result;
      },
    );
  }

  /** Gives back the places that a check took under concurrency rules; nothing for a result without any. */
  release(result: RulesResult): Answer<void> {
    const places = this.leased.get(result);
    if (places === undefined) return;
    this.leased.delete(result);
    return andThen(this.applyTo(places, 'release'), () => undefined);
  }

  /** Starts the leases of those places again. False where none was renewed: they may be somebody else's by now, or nobody could tell. */
  renew(result: RulesResult): Answer<boolean> {
    const places = this.leased.get(result);
    if (places === undefined) return false;
    return andThen(this.applyTo(places, 'renew'), (renewed) => {
      renewed.forEach(({ receipt }, i) => {
        // Without another receipt it was not renewed, and the old one is still what finds it.
        if (receipt !== undefined) places[i] = { ...places[i]!, receipt };
      });
      // Given back while the renewal was under way: the places it got are given back too.
      if (!this.leased.has(result)) return andThen(this.applyTo(places, 'release'), () => false);
      return renewed.some(({ allowed }) => allowed);
    });
  }

  private applyTo(places: readonly Check[], operation: 'release' | 'renew'): Answer<Decision[]> {
    return this.parts.store.apply(places.map((place) => ({ ...place, operation })));
  }

  checkRule(rule: string, key: string, call: ServiceCall = {}): Answer<Decision> {
    const startMs = performance.now();
    return andThen(
      this.counted(() => this.rules.checkKey(rule, key, callOf(call))),
      (decision) => {
        this.parts.checks.observe(performance.now() - startMs);
        this.count(decision);
        if (isRefusal(decision)) this.parts.refusals.count(rule, key);
        return decision.shadow ? { ...decision, allowed: true, retryAfterMs: 0 } : decision;
      },
    );
  }

  checkPolicy(policy: Policy, key: string, call: ServiceCall = {}): Answer<Decision> {
    const startMs = performance.now();
    const name = this.adHoc.nameOf(policy);
    const { cost = 1, requestId } = call;
    // Without it a policy that never delays is asked by the short way.
    const maxDelayMs = shaping.has(policy.algorithm) ? call.maxDelayMs : undefined;
    const { store, largeStore = store } = this.parts;
    const own = isLarge(policy) ? largeStore : store;
    return andThen(
      this.counted(() => own.apply([{ name, key, policy, cost, maxDelayMs }], undefined, requestId)),
      ([answered]) => {
        const decision = { ...(answered as Decision), rule: adHocRule };
        this.parts.checks.observe(performance.now() - startMs);
        this.count(decision);
        if (isRefusal(decision)) this.parts.refusals.count(adHocRule, key);
        return decision;
      },
    );
  }

  /** Of a policy that came with requests, where the store can tell that it counts for nothing any more. */
  private forget(name: string): boolean {
    const { store, largeStore = store } = this.parts;
    return [store, largeStore].every((one) => 'forgetName' in one && (one as MemoryStore).forgetName(name));
  }

  apply(checks: readonly SentCheck[], requestId?: string): Answer<Decision[]> {
    const { sentStore: store = this.parts.store } = this.parts;
    this.sent.admit(checks);
    this.untilTimed = this.untilTimed === 0 ? timedEvery - 1 : this.untilTimed - 1;
    const startMs = this.untilTimed === 0 ? performance.now() : 0;
    const answer = this.counted(() =>
      store.apply(
        timedChecks(checks, () => store.clock.now()),
        undefined,
        requestId,
      ),
    );
    return answer instanceof Promise
      ? answer.then((decisions) => this.countSent(checks, decisions, startMs))
      : this.countSent(checks, answer, startMs);
  }

  private countSent(checks: readonly SentCheck[], decisions: Decision[], startMs: number): Decision[] {
    if (startMs !== 0) this.parts.checks.observe(performance.now() - startMs, timedEvery);
    for (let i = 0; i < decisions.length; i += 1) {
      const { name, key } = checks[i]!;
      const decision = decisions[i]!;
      // Callers invent names, and labels must not be theirs to invent.
      const rule = this.ruleNames.has(name) ? name : adHocRule;
      this.count(decision, rule);
      if (isRefusal(decision)) this.parts.refusals.count(rule, key);
    }
    return decisions;
  }

  throttle(
    bytes: Uint8Array,
    start: number,
    end: number,
    numbers: ThrottleNumbers,
    quantity: number,
  ): Answer<ThrottleReply> {
    return this.throttles.throttle(bytes, start, end, numbers, quantity);
  }

  shouldRateLimit(request: RateLimitRequest): Answer<RateLimitResponse> {
    const startMs = performance.now();
    return andThen(
      this.counted(() => this.parts.envoy.shouldRateLimit(request), 'envoy'),
      (response) => {
        const outcome = response.overallCode === 'OK' ? 'allowed' : 'refused';
        this.parts.checks.count('envoy', outcome, performance.now() - startMs);
        return response;
      },
    );
  }

  ruleData(): readonly Readonly<Record<string, unknown>>[] {
    return this.config.ruleData;
  }

  /** `tier`: the policy of which of the rule's tiers. Default: that of a subject without a tier. */
  inspect(rule: string, key: string, tier?: string): Answer<KeyState> {
    // The rules may be others by the time the store has answered.
    const { rules: asked } = this;
    const call = tier === undefined ? {} : { tier };
    return andThen(asked.peekKey(rule, key, { ...call, cost: 0 }) as Answer<Decision>, ({ remaining, resetAfterMs }) =>
      andThen(asked.peekKey(rule, key, call) as Answer<Decision>, (decision) => {
        if (decision.degraded) throw new SluiceError('store-unavailable', 'The store does not answer.');
        return {
          rule,
          key,
          // What remains is said of the key as it stands, whether a call would pass of a call of cost 1.
          decision: { ...decision, remaining, resetAfterMs },
          override: asked.overrides(rule, key)[0],
        };
      }),
    );
  }

  reset(rule: string, key: string): Answer<Decision> {
    return this.rules.reset(rule, key);
  }

  override(rule: string, key: string, override: Override): void {
    this.rules.override(rule, key, override);
    this.overridesRevision += 1;
  }

  removeOverride(rule: string, key: string): boolean {
    const wasThere = this.rules.removeOverride(rule, key);
    if (wasThere) this.overridesRevision += 1;
    return wasThere;
  }

  overrides(): readonly ActiveOverride[] {
    return this.rules.overrides();
  }

  private count({ rule: own, allowed, shadow, reason }: Decision, rule = own): void {
    if (isFault(reason)) this.parts.checks.count(rule, 'error');
    else this.parts.checks.count(rule, allowed ? 'allowed' : shadow ? 'shadow-refused' : 'refused');
  }

  /** `asked`: the rules may be others by the time the store has answered. */
  private countRefusals(asked: Rules, subject: Subject, { decisions }: RulesResult): void {
    for (const decision of decisions) {
      const { rule } = decision;
      if (isRefusal(decision)) this.parts.refusals.count(rule, asked.keyOf(rule, subject) ?? '');
    }
  }

  /** Counts what throws, and lets it be thrown. */
  private counted<T>(ask: () => T | Promise<T>, rule = adHocRule): Answer<T> {
    const failed = (error: unknown): never => {
      if (!(error instanceof SluiceError && error.code === 'invalid-option')) this.parts.checks.count(rule, 'error');
      throw error;
    };
    try {
      const answer = ask();
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  }
}

/** Nobody decided: the store did not answer, or had no room to count in. */
function isFault(reason: Decision['reason']): boolean {
  return reason === 'store-failure' || reason === 'store-full';
}

/** Whether a key used too much. When the store fails everybody is refused, and nobody is to blame. */
function isRefusal({ allowed, shadow, reason }: Decision): boolean {
  return !allowed && !shadow && !isFault(reason);
}

/** What a subject holds by this result: one place for each rule that lends some. */
function placesOf(asked: Rules, subject: Subject, { decisions }: RulesResult): Check[] {
  return decisions.flatMap(({ rule, policy, receipt }) => {
    const key = receipt && asked.keyOf(rule, subject);
    return key === undefined ? [] : [{ name: rule, key, policy, cost: 1, receipt }];
  });
}

function ruleNamesOf({ rules: list }: Config): ReadonlySet<string> {
  return new Set(list.map(({ name }) => name));
}

function rulesOf({ rules: list, allow, deny, ipv6Subnet }: Config, store: Store): Rules {
  return rules(list, { store: store as Store<'sync'>, allow, deny, ipv6Subnet });
}

/** Only what was given: the library refuses fields that are there and undefined. */
function callOf({ cost, requestId, maxDelayMs }: ServiceCall): RulesCall {
  return {
    ...(cost !== undefined && { cost }),
    ...(requestId !== undefined && { requestId }),
    ...(maxDelayMs !== undefined && { maxDelayMs }),
  };
}
