/**
 * What is said when the store does not answer. Each check has its own way, and the batch stays all or nothing:
 *
 *      closed   refuses, and with it the batch
 *      open     allows, and counts nothing
 *      local    decides in this process, by this instance's share of the limit
 */
import { algorithmOf, mustSupport } from '../../algorithms/algorithm.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import type { Check, Store } from '../../stores/store.ts';
import type { Decision, StoreFailureMode } from '../../vocabulary/decision.ts';
import { checkCost, type Policy } from '../../vocabulary/policy.ts';
import { limitOf, notAsked } from '../not-asked.ts';
import type { Receipts } from './receipts.ts';

// Beside a rule that fails closed, the local ones answer as in any refused batch: with what is left, and without taking it.
const refusing: Check = { name: '\u0000closed', key: '', policy: fixedWindow({ limit: 1, window: 1 }), cost: 2 };

export interface Fallback {
  /** Decides a batch without the store. `retryAfterMs` is when the store may be asked again. */
  decide(
    checks: readonly Check[],
    atMs: number | undefined,
    requestId: string | undefined,
    retryAfterMs: number,
  ): Decision[];
  /** Carries out what goes by a receipt that was given out here; undefined when it was not. */
  settle(check: Check, atMs: number | undefined, requestId: string | undefined): Decision | undefined;
}

export function fallback(
  to: StoreFailureMode,
  shareOf: (policy: Policy) => Policy | undefined,
  local: () => Store<'sync'>,
  receipts: Receipts,
): Fallback {
  function modeOf({ onStoreFailure = to, policy }: Check): StoreFailureMode {
    if (onStoreFailure === 'local' && shareOf(policy) !== undefined) return 'local';
    // Also where somebody wrote what is none of the three: what is not known to be open is closed.
    return onStoreFailure === 'open' ? 'open' : 'closed';
  }

  /** What the local rules of the batch say, by their place in it. */
  function decideLocally(
    checks: readonly Check[],
    modes: readonly StoreFailureMode[],
    isClosed: boolean,
    atMs: number | undefined,
    requestId: string | undefined,
  ) {
    const places = [...checks.keys()].filter((at) => modes[at] === 'local');
    if (places.length === 0) return new Map<number, Decision>();
    const shares = places.map((at): Check => ({ ...checks[at]!, policy: shareOf(checks[at]!.policy)! }));
    const decisions = local().apply(isClosed ? [...shares, refusing] : shares, atMs, requestId);
    return new Map(places.map((at, i) => [at, decisions[i]!]));
  }

  function decide(
    checks: readonly Check[],
    atMs: number | undefined,
    requestId: string | undefined,
    retryAfterMs: number,
  ): Decision[] {
    // Wrong use is wrong also while the store is down.
    for (const { cost, policy, operation } of checks) {
      checkCost(cost);
      mustSupport(algorithmOf(policy), operation ?? 'check');
    }
    const modes = checks.map(modeOf);
    const isClosed = checks.some(({ shadow }, at) => modes[at] === 'closed' && !shadow);
    const told = decideLocally(checks, modes, isClosed, atMs, requestId);
    const isRefused = isClosed || checks.some(({ shadow }, at) => told.get(at)?.allowed === false && !shadow);
    return checks.map((check, at) => {
      if (modes[at] === 'closed') return closed(check, retryAfterMs);
      const own = told.get(at);
      if (own === undefined) return open(check, isRefused);
      // More than the share, though not more than the limit: what would let it pass is the store, and not a wait for ever.
      if (own.retryAfterMs === Number.POSITIVE_INFINITY && check.cost <= limitOf(check.policy))
        return closed(check, retryAfterMs);
      return { ...receipts.sign(own, 'local'), degraded: 'local' };
    });
  }

  function open(check: Check, isRefused: boolean): Decision {
    const { operation, cost } = check;
    const decision: Decision = { ...notAsked(check), degraded: 'open' };
    if (isRefused) return decision;
    if (operation === 'take') return { ...decision, granted: cost };
    return operation === 'reserve' || operation === 'acquire'
      ? receipts.sign({ ...decision, receipt: [] }, 'open')
      : decision;
  }

  function settle(check: Check, atMs: number | undefined, requestId: string | undefined): Decision | undefined {
    const [mode, receipt] = receipts.read(check.receipt);
    if (mode === undefined) return undefined;
    // Nothing was counted: nothing is given back, and a place is had for as long as one likes.
    if (mode === 'open') {
      const decision: Decision = { ...notAsked(check), degraded: 'open' };
      return check.operation === 'renew' ? { ...decision, receipt: check.receipt! } : decision;
    }
    const policy = shareOf(check.policy) ?? check.policy;
    const [decision] = local().apply([{ ...check, policy, receipt }], atMs, requestId);
    return { ...receipts.sign(decision!, 'local'), degraded: 'local' };
  }

  return { decide, settle };
}

/** Refused because nobody can tell. */
function closed(check: Check, retryAfterMs: number): Decision {
  return {
    ...notAsked(check),
    allowed: false,
    retryAfterMs,
    resetAfterMs: retryAfterMs,
    reason: 'store-failure',
    degraded: 'closed',
  };
}
