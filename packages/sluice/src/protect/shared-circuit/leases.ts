/**
 * Who is there and who reports, as leases in a store: each holder is one place of the `concurrency` algorithm, and how many
 * there are is how many places are taken. What nobody renews ends by itself, so a process that died has neither a say nor a
 * weight for longer than that.
 *
 *      circuit-members   │ A │ B │ C │            every instance that makes calls
 *      circuit-reports   │ A │ B │                those whose own calls failed
 *      circuit-instance:A    │ A │                only where instances have names: one place, so that whoever comes
 *                                                 back under the name waits for what is left of the one before
 *
 * An instance counts once. A change that failed may have been made all the same, under a receipt that never arrived; until what
 * it may have taken has ended, nothing new is taken.
 */
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import type { Check } from '../../stores/store.ts';
import type { Decision, Receipt } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import type { Settings } from './settings.ts';

/** What one look at the store came to. */
export interface Seen {
  readonly members: number;
  readonly reports: number;
  /** Why a place was not given, if one was not. */
  readonly refusal: SluiceError | undefined;
}

export interface Leases {
  readonly isMember: boolean;
  readonly isReporting: boolean;
  /** Renews what is held, takes and gives back what has to be, and counts. Rejects when the store fails. */
  exchange(isWitness: boolean): Promise<Seen>;
  /** Gives everything back. */
  giveBack(): Promise<void>;
}

interface Place {
  readonly name: string;
  readonly policy: Policy;
  /** Of the lease that is held. */
  receipt: Receipt | undefined;
}

interface Step {
  readonly place: Place;
  readonly operation: 'acquire' | 'renew' | 'release';
}

export function leasesOf(settings: Settings): Leases {
  const { store, name: key, instance, maxInstances, leaseMs, clock } = settings;
  // One more than may be: all places taken is also what a store says that does not know.
  const policy = concurrency({ limit: maxInstances + 1, lease: leaseMs });
  const members = placeOf('circuit-members', policy);
  const reports = placeOf('circuit-reports', policy);
  const membership = [members];
  if (instance !== undefined)
    membership.push(placeOf(`circuit-instance:${instance}`, concurrency({ limit: 1, lease: leaseMs })));
  // When it last became unknown what is held.
  let doubtfulSinceMs = Number.NEGATIVE_INFINITY;

  function isMember(): boolean {
    return membership.every(({ receipt }) => receipt !== undefined);
  }

  function mayTake(): boolean {
    const nowMs = clock.now();
    // After a clock that stepped back it is for as long again, and not for as long as the step.
    doubtfulSinceMs = Math.min(doubtfulSinceMs, nowMs);
    return nowMs - doubtfulSinceMs >= leaseMs;
  }

  async function apply(checks: readonly Check[]): Promise<readonly Decision[]> {
    const decisions = await store.apply(checks);
    if (decisions.some(({ degraded }) => degraded))
      throw new SluiceError('store-unavailable', 'The store did not answer; what was decided instead counts nobody.');
    return decisions;
  }

  function stepsFor(isWitness: boolean): Step[] {
    const steps: Step[] = [];
    const canTake = mayTake();
    const step = (place: Place, isWanted: boolean) => {
      if (place.receipt) steps.push({ place, operation: isWanted ? 'renew' : 'release' });
      else if (isWanted && canTake) steps.push({ place, operation: 'acquire' });
    };
    // Together, all or nothing: who is not counted has no say.
    for (const place of membership) step(place, true);
    step(reports, isWitness);
    return steps;
  }

  /** The reason why nothing could be taken, if so. */
  async function change(steps: readonly Step[]): Promise<SluiceError | undefined> {
    if (steps.length === 0) return undefined;
    let done = steps;
    let refusal: SluiceError | undefined;
    try {
      let decisions = await apply(steps.map(checkOf));
      const refused = decisions.find(({ allowed }, i) => !allowed && steps[i]!.operation === 'acquire');
      if (refused) {
        // All or nothing: what is held has not been renewed with it.
        refusal = refusalOf(refused);
        done = steps.filter(({ operation }) => operation !== 'acquire');
        decisions = done.length === 0 ? [] : await apply(done.map(checkOf));
      }
      for (const [i, { place, operation }] of done.entries())
        place.receipt = operation === 'release' ? undefined : decisions[i]!.receipt;
    } catch (error) {
      doubtfulSinceMs = clock.now();
      throw error;
    }
    return refusal;
  }

  function checkOf({ place, operation }: Step): Check {
    const { name, policy, receipt } = place;
    return { name, key, policy, cost: 1, operation, receipt };
  }

  function refusalOf({ rule, reason }: Decision): SluiceError {
    if (rule !== members.name && rule !== reports.name)
      return new SluiceError(
        'store-full',
        `The instance "${instance}" is not counted: another one of that name is, or was within the last ${leaseMs} ms.`,
      );
    const code = reason === 'limit' || reason === 'store-full' ? 'store-full' : 'store-unavailable';
    return new SluiceError(code, `The store gives no place among the ${rule} of "${key}": ${reason}.`);
  }

  async function count(): Promise<Pick<Seen, 'members' | 'reports'>> {
    // A cost of 1, because one of 0 passes also where the store does not know.
    const peek = { key, policy, cost: 1, operation: 'peek' } as const;
    const [there, reporting] = await apply([
      { ...peek, name: members.name },
      { ...peek, name: reports.name },
    ]);
    return { members: takenIn(there), reports: takenIn(reporting) };
  }

  /** One round: changes and counts travel together. */
  async function round(isWitness: boolean): Promise<Seen> {
    const [changed, counted] = await Promise.allSettled([change(stepsFor(isWitness)), count()]);
    if (changed.status === 'rejected') throw changed.reason;
    if (counted.status === 'rejected') throw changed.value ?? counted.reason;
    return { ...counted.value, refusal: changed.value };
  }

  return {
    get isMember() {
      return isMember();
    },
    get isReporting() {
      return reports.receipt !== undefined;
    },
    async exchange(isWitness) {
      const wasMember = isMember();
      const seen = await round(isWitness);
      // Forgotten, because it was too late, it joins anew. A report is another matter: its time is over.
      return wasMember && !isMember() ? round(isWitness && reports.receipt !== undefined) : seen;
    },
    async giveBack() {
      const held = [...membership, reports].filter(({ receipt }) => receipt !== undefined);
      await change(held.map((place) => ({ place, operation: 'release' })));
    },
  };
}

function placeOf(name: string, policy: Policy): Place {
  return { name, policy, receipt: undefined };
}

/** How many places are taken. */
function takenIn(decision: Decision | undefined): number {
  const { allowed, limit, remaining, reason } = decision!;
  if (allowed) return limit - remaining - 1;
  // What a store does not know (its clock stepped back, it was failed over) counts as taken; believed, that would be a quorum.
  throw new SluiceError(
    'store-unavailable',
    `The store cannot say how many of the ${limit} places are taken: ${reason}.`,
  );
}
