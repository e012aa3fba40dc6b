/**
 * A batch whose keys live on different slots of a cluster. No script can see them all, so it takes two steps: reserve on
 * every slot, then keep or cancel.
 *
 *      slot 1: reserve ──► yes ─┐                      all yes: done, a reservation that is kept is a charge
 *      slot 2: reserve ──► yes ─┼─► one said no ──► cancel on 1 and 2; whoever crashes before that has spent it
 *      slot 3: reserve ──► no  ─┘
 */
import { algorithmOf } from '../algorithms/algorithm.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import type { Check, Operation } from './store.ts';

/** Applies the checks of one slot. The step tells the two apart for request ids. */
export type ApplySlot = (checks: readonly Check[], step: 'reserve' | 'cancel') => Promise<Decision[]>;

const reservable: readonly (Operation | undefined)[] = [undefined, 'check', 'reserve', 'acquire'];

/**
 * @param slots the checks of each slot, with their places in the batch
 * @param isRepeatable whether the batch has a request id, so that it may be sent again
 * @param onLostCancel what was taken and could not be given back: it counts as spent
 */
export async function applyAcrossSlots(
  slots: readonly (readonly (readonly [place: number, check: Check])[])[],
  apply: ApplySlot,
  isRepeatable: boolean,
  onLostCancel: (error: unknown) => void,
): Promise<Decision[]> {
  mustBeReservable(slots.flat().map(([, { operation }]) => operation));
  const decisions: Decision[] = [];
  const outcomes = await Promise.allSettled(
    slots.map(async (checks) => {
      const reserved = await apply(
        checks.map(([, check]) => reserving(check)),
        'reserve',
      );
      for (const [i, [place]] of checks.entries()) decisions[place] = reserved[i] as Decision;
    }),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  const isRefused = slots.flat().some(([place, check]) => !check.shadow && decisions[place]?.allowed === false);
  // Whoever sends a failed batch again gets the answers of the slots that answered: what those say is taken must still be.
  if (isRefused || (failed && !isRepeatable)) {
    await Promise.all(
      slots.map(async (checks) => {
        // Nothing was taken on a slot that said no, or that did not answer: what it may have taken is spent.
        const isTaken = checks.every(
          ([place, check]) => decisions[place]?.allowed || (decisions[place] && check.shadow),
        );
        if (isTaken) await cancel(checks, decisions, apply).catch(onLostCancel);
      }),
    );
  }
  if (failed) throw failed.reason;
  for (const [place, check] of slots.flat()) decisions[place] = asAsked(check, decisions[place] as Decision);
  return decisions;
}

/** What is never refused, such as a penalty, cannot be taken back when another slot refuses. */
function mustBeReservable(operations: readonly (Operation | undefined)[]): void {
  const refusable = [...reservable, 'peek', 'take'];
  const other = operations.find((operation) => !refusable.includes(operation));
  const isMixed = other !== undefined && operations.some((operation) => refusable.includes(operation));
  const unsupported = operations.includes('take') ? 'take' : isMixed ? other : undefined;
  if (unsupported === undefined) return;
  throw new SluiceError(
    'unsupported-operation',
    `${unsupported}() beside other checks, of keys that live on different slots of a cluster.`,
  );
}

/** A check that can be given back. */
function reserving(check: Check): Check {
  const { operation, policy } = check;
  if (!reservable.includes(operation)) return check;
  return { ...check, operation: algorithmOf(policy).release ? 'acquire' : 'reserve' };
}

async function cancel(
  checks: readonly (readonly [place: number, check: Check])[],
  decisions: Decision[],
  apply: ApplySlot,
): Promise<void> {
  const taken = checks.filter(([place, { operation }]) => decisions[place]?.receipt && reservable.includes(operation));
  if (taken.length === 0) return;
  const given = await apply(
    taken.map(([place, check]) => ({
      ...check,
      operation: algorithmOf(check.policy).release ? 'release' : 'settle',
      actual: 0,
      receipt: decisions[place]?.receipt,
    })),
    'cancel',
  );
  for (const [i, [place]] of taken.entries()) {
    const { remaining, resetAfterMs } = given[i] as Decision;
    const { receipt: _, ...decision } = decisions[place] as Decision;
    decisions[place] = { ...decision, remaining, resetAfterMs };
  }
}

/** Without the receipt that was not asked for. */
function asAsked({ operation }: Check, decision: Decision): Decision {
  if (operation === 'reserve' || operation === 'acquire') return decision;
  const { receipt: _, ...rest } = decision;
  return rest;
}
