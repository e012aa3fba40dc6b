/**
 * A service around a service that makes a span of each check: which door, which rule, allowed or not. Never keys, which belong to
 * people, and never messages of errors, which may name keys.
 *
 *      door ──► tracedService(service, tracing, 'http') ──► service
 */
import type { Attributes } from '@opentelemetry/api';
import { SluiceError } from 'sluice';
import type { Answer, Service, TraceContext } from '../service/service.ts';
import { noTracing, type Tracing } from './tracing.ts';

export type Protocol = 'http' | 'grpc' | 'resp';

export function tracedService(service: Service, tracing: Tracing, protocol: Protocol): Service {
  if (tracing === noTracing) return service;

  function traced<T>(
    name: string,
    context: TraceContext | undefined,
    ask: () => Answer<T>,
    describe: (answer: T) => Attributes,
  ): Answer<T> {
    const span = tracing.start(name, context, { 'sluice.protocol': protocol });
    if (!span) return ask();
    const succeed = (answer: T): T => {
      span.end(describe(answer));
      return answer;
    };
    const fail = (error: unknown): never => {
      span.fail(error instanceof SluiceError ? error.code : error instanceof Error ? error.name : 'unknown');
      throw error;
    };
    try {
      const answer = ask();
      return answer instanceof Promise ? answer.then(succeed, fail) : succeed(answer);
    } catch (error) {
      return fail(error);
    }
  }

  return {
    check: (subject, call) =>
      traced(
        'check',
        call,
        () => service.check(subject, call),
        ({ allowed, tightest, list }) => described(allowed, tightest?.rule ?? list),
      ),
    checkRule: (rule, key, call) =>
      traced(
        'check rule',
        call,
        () => service.checkRule(rule, key, call),
        ({ allowed }) => described(allowed, rule),
      ),
    checkPolicy: (policy, key, call) =>
      traced(
        'check policy',
        call,
        () => service.checkPolicy(policy, key, call),
        ({ allowed }) => described(allowed, 'ad-hoc'),
      ),
    apply: (checks, requestId) =>
      traced(
        'apply',
        undefined,
        () => service.apply(checks, requestId),
        // Names of checks are the caller's.
        (decisions) => described(!decisions.some(({ allowed, shadow }) => !allowed && !shadow), undefined),
      ),
    answersAtOnce: service.answersAtOnce,
    throttle: (bytes, start, end, numbers, quantity) =>
      traced(
        'throttle',
        undefined,
        () => service.throttle(bytes, start, end, numbers, quantity),
        ({ limited }) => described(limited === 0, 'cl.throttle'),
      ),
    shouldRateLimit: (request, context) =>
      traced(
        'should rate limit',
        context,
        () => service.shouldRateLimit(request, context),
        ({ overallCode }) => described(overallCode === 'OK', 'envoy'),
      ),

    // Whoever administers the service is not traced.
    ruleData: () => service.ruleData(),
    inspect: (rule, key, tier) => service.inspect(rule, key, tier),
    reset: (rule, key) => service.reset(rule, key),
    override: (rule, key, override) => service.override(rule, key, override),
    removeOverride: (rule, key) => service.removeOverride(rule, key),
    overrides: () => service.overrides(),
    topRefused: (most) => service.topRefused(most),
    reload: () => service.reload(),
    status: () => service.status(),
    metrics: () => service.metrics(),
    readiness: () => service.readiness(),
  };
}

function described(allowed: boolean, rule: string | undefined): Attributes {
  return { 'sluice.allowed': allowed, ...(rule !== undefined && { 'sluice.rule': rule }) };
}
