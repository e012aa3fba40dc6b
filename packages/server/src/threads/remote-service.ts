/**
 * The service as a thread that only speaks with clients sees it: rules and policies are asked of the main thread, whose store
 * holds the state; CL.THROTTLE, which is asked most and needs the least, is answered here from memory that all threads share.
 */
import type { ActiveOverride, Decision, Override, Policy, RulesResult, Subject } from 'sluice';
import { parsePolicy } from 'sluice';
import { policyOfText, type SentCheck } from 'sluice/client';
import type { RateLimitRequest, RateLimitResponse } from '../envoy/rate-limit-message.ts';
import type { LiveSnapshot } from '../operations/live-snapshot.ts';
import type {
  Answer,
  KeyState,
  RefusedKey,
  ReloadReport,
  Service,
  ServiceCall,
  ThrottleNumbers,
  ThrottleReply,
} from '../service/service.ts';
import type { Channel } from './channel.ts';

export interface ThrottleChecker {
  throttle(
    bytes: Uint8Array,
    start: number,
    end: number,
    numbers: ThrottleNumbers,
    quantity: number,
  ): Answer<ThrottleReply>;
}

/** A check on its way between threads: its policy as text, of which the same policy is made each time. */
type CopiedCheck = Omit<SentCheck, 'policy'> & { readonly policy: string };

/** What the main thread answers, by name. Arguments and answers are copied on their way. */
export function serviceHandlers(service: Service) {
  return {
    check: (subject: Subject, call?: ServiceCall) => service.check(subject, call),
    checkRule: (rule: string, key: string, call?: ServiceCall) => service.checkRule(rule, key, call),
    // The copy is plain data again.
    checkPolicy: (policy: { algorithm: string }, key: string, call?: ServiceCall) =>
      service.checkPolicy(parsePolicy(policy), key, call),
    apply: (checks: readonly CopiedCheck[], requestId?: string) =>
      service.apply(
        checks.map((check) => ({ ...check, policy: policyOfText(check.policy) })),
        requestId,
      ),
    // What is answered at once is the service's own object, which the next call changes before it is sent.
    throttle: async (key: Uint8Array, numbers: ThrottleNumbers, quantity: number) => ({
      ...(await service.throttle(key, 0, key.length, numbers, quantity)),
    }),
    shouldRateLimit: (request: RateLimitRequest) => service.shouldRateLimit(request),
    ruleData: () => service.ruleData(),
    inspect: (rule: string, key: string, tier?: string) => service.inspect(rule, key, tier),
    reset: (rule: string, key: string) => service.reset(rule, key),
    override: (rule: string, key: string, override: Override) => service.override(rule, key, override),
    removeOverride: (rule: string, key: string) => service.removeOverride(rule, key),
    overrides: () => service.overrides(),
    topRefused: (most: number) => service.topRefused(most),
    reload: () => service.reload(),
    status: () => service.status(),
    metrics: () => service.metrics(),
    readiness: () => service.readiness(),
  };
}

/** `local` answers CL.THROTTLE in this thread; without it the main thread does. */
export function remoteService({ call }: Channel, local: ThrottleChecker | undefined): Service {
  return {
    check: (subject, options) => call<RulesResult>('check', subject, options),
    checkRule: (rule, key, options) => call<Decision>('checkRule', rule, key, options),
    checkPolicy: (policy: Policy, key, options) => call<Decision>('checkPolicy', { ...policy }, key, options),
    apply: (checks, requestId) =>
      call<Decision[]>(
        'apply',
        checks.map((check): CopiedCheck => ({ ...check, policy: JSON.stringify(check.policy) })),
        requestId,
      ),
    throttle(bytes, start, end, numbers, quantity) {
      if (local) return local.throttle(bytes, start, end, numbers, quantity);
      return call<ThrottleReply>('throttle', Uint8Array.from(bytes.subarray(start, end)), numbers, quantity);
    },
    shouldRateLimit: (request) => call<RateLimitResponse>('shouldRateLimit', request),
    ruleData: () => call<readonly Readonly<Record<string, unknown>>[]>('ruleData'),
    inspect: (rule, key, tier) => call<KeyState>('inspect', rule, key, tier),
    reset: (rule, key) => call<Decision>('reset', rule, key),
    override: (rule, key, override) => call<void>('override', rule, key, override),
    removeOverride: (rule, key) => call<boolean>('removeOverride', rule, key),
    overrides: () => call<readonly ActiveOverride[]>('overrides'),
    topRefused: (most) => call<readonly RefusedKey[]>('topRefused', most),
    reload: () => call<ReloadReport>('reload'),
    status: () => call<LiveSnapshot>('status'),
    metrics: () => call<string>('metrics'),
    readiness: () => call<{ isReady: boolean; reason?: string }>('readiness'),
  };
}
