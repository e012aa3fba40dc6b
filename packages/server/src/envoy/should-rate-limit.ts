/**
 * Envoy's question, answered.
 *
 *      descriptors ──► which limit applies to each ──► one batch of checks ──► store ──► statuses, overall code
 *
 * All or nothing: when one descriptor refuses, none is charged. A descriptor that would have passed says so, with what is left to it.
 * The answer is OK, OVER_LIMIT or an error; Envoy takes anything else for OK.
 */
import { type Check, type Decision, SluiceError, type Store } from 'sluice';
import { andThen } from '../service/answer.ts';
import type { Answer } from '../service/service.ts';
import { type Asked, askedDescriptors, type Limited } from './asked-descriptor.ts';
import type { EnvoyRules } from './envoy-rules.ts';
import { addHits, countBook, type LimitCounts } from './limit-counts.ts';
import { overrideRates } from './override-rates.ts';
import type { RateLimitRequest, RateLimitResponse } from './rate-limit-message.ts';
import { headersOf, metadataOf, statusOf, statusWithoutLimit } from './status.ts';

export interface EnvoyLimiterOptions {
  /** The rules in force; asked for with each request, so that a reload applies to the next. */
  readonly rules: () => EnvoyRules;
  readonly store: Store;
  /** Tells Envoy to add `RateLimit-Limit`, `-Remaining` and `-Reset` to its response. */
  readonly responseHeaders: () => boolean;
  /** The longest key or value of an entry. Default: any. */
  readonly keyBytes?: number;
  /** Told what the store said to each descriptor: the name of the limit's state, whose count it is, and the decision. */
  readonly onStatus?: (name: string, key: string, decision: Decision) => void;
}

export interface EnvoyLimiter {
  /** Throws or rejects with a `SluiceError`: `invalid-option` for what cannot be asked, else what kept the store from answering. */
  shouldRateLimit(request: RateLimitRequest): Answer<RateLimitResponse>;
  /** A row for each configured limit, and few more; `limit-counts.ts` says which. */
  counts(): Iterable<LimitCounts>;
}

export function envoyLimiter(options: EnvoyLimiterOptions): EnvoyLimiter {
  const { rules, store, responseHeaders, onStatus, keyBytes = Number.POSITIVE_INFINITY } = options;
  const book = countBook(rules);
  const overrides = overrideRates(store.clock);
  // Since when the rules are in force: what was used before was used under others.
  let inForce = rules();
  let changedMs = store.clock.now();

  function shouldRateLimit(request: RateLimitRequest): Answer<RateLimitResponse> {
    const current = rules();
    if (current !== inForce) {
      inForce = current;
      changedMs = store.clock.now();
    }
    const asked = askedDescriptors(request, current, overrides, keyBytes);
    if (asked === undefined) {
      return respond(
        request.descriptors.map(() => ({ kind: 'unmatched' })),
        new Map(),
        true,
      );
    }
    const limited = asked.filter((one): one is Limited => one.kind === 'limited');
    if (limited.length === 0) return respond(asked, new Map(), true);
    const quotas = limited.filter(({ limit }) => limit?.isQuota);
    // One quota that cannot be over is enough for none of them to refuse.
    return decide(asked, limited, quotas.every(canRefuse) ? quotas : []);
  }

  /**
   * The quotas refuse only if all of them are over, and a batch knows no "one of these". So one of them has to pass and the others need
   * not. If only that one refuses, nothing has been charged, and another that would have passed takes its place.
   */
  function decide(
    asked: readonly Asked[],
    limited: readonly Limited[],
    candidates: readonly Limited[],
  ): Answer<RateLimitResponse> {
    const [witness, ...others] = candidates;
    const isRequired = (one: Limited): boolean => (one.limit?.isQuota ? one === witness : canRefuse(one));
    const checks = limited.map((one) => checkOf(one, isRequired(one), changedMs));
    return andThen(store.apply(checks) as Answer<readonly Decision[]>, (answer) => {
      const decisions = new Map(limited.map((one, i) => [one, mustBeDecided(one, answer[i])]));
      const refusing = limited.filter((one) => isRequired(one) && !decisions.get(one)!.allowed);
      if (refusing.length === 1 && refusing[0] === witness) {
        const passing = others.filter((one) => decisions.get(one)!.allowed);
        if (passing.length > 0) return decide(asked, limited, passing);
      }
      return respond(asked, decisions, refusing.length === 0);
    });
  }

  function respond(
    asked: readonly Asked[],
    decisions: ReadonlyMap<Limited, Decision>,
    isCharged: boolean,
  ): RateLimitResponse {
    const nowMs = store.clock.now();
    for (const [one, decision] of decisions) count(one, decision, isCharged);
    const statuses = asked.map((one) =>
      one.kind === 'limited' ? statusOf(one, decisions.get(one)!, nowMs) : statusWithoutLimit(one),
    );
    return {
      overallCode: isCharged ? 'OK' : 'OVER_LIMIT',
      statuses,
      responseHeadersToAdd: responseHeaders() ? headersOf(asked, statuses) : [],
      requestHeadersToAdd: [],
      dynamicMetadata: metadataOf(asked, statuses),
    };
  }

  function count(one: Limited, decision: Decision, isCharged: boolean): void {
    onStatus?.(one.name, one.key, decision);
    if (one.isRefund || one.hits === 0) return;
    const { limit: configured, rate, hits } = one;
    // The store's limit of half a hit stands for none.
    const limit = rate.requestsPerUnit === 0 ? 0 : decision.limit;
    const left = decision.remaining + (isCharged && decision.allowed ? hits : 0);
    // What an earlier descriptor of the request takes of the same count is not in `remaining` of a batch that was refused.
    const least = decision.allowed ? 0 : Math.max(0, limit - hits + 1);
    const before = Math.max(least, limit - left);
    addHits(configured ? book.of(configured, one.entries) : book.ofOverrides(one.domain), {
      hits,
      limit,
      before,
      after: before + hits,
      isShadow: configured?.isShadow ?? false,
      isRemembered: decision.remembered ?? false,
    });
  }

  return { shouldRateLimit, counts: book.rows };
}

function canRefuse({ limit, isRefund }: Limited): boolean {
  return !limit?.isShadow && !isRefund;
}

function checkOf({ name, key, rate, limit, hits, isRefund }: Limited, isRequired: boolean, changedMs: number): Check {
  // A limit that came with the request was never another.
  const check = { name, key, policy: rate.policy, cost: hits, changedMs: limit && changedMs };
  if (isRefund) return { ...check, operation: 'reward' };
  return isRequired ? check : { ...check, shadow: true };
}

/** A store that could not tell, or could not count, has not said no, and must not have said yes. */
function mustBeDecided({ name, limit }: Limited, decision: Decision | undefined): Decision {
  if (decision !== undefined && limit?.isShadow) return decision;
  if (decision?.reason === 'store-full')
    throw new SluiceError('store-full', `There is no room to count another key of "${name}". Raise store.maxKeys.`);
  if (decision !== undefined && decision.reason !== 'store-failure') return decision;
  throw new SluiceError('store-unavailable', `The store did not answer for "${name}", and nobody may pass without it.`);
}
