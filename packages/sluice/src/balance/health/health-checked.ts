/**
 * A balancer that knows who is well: around any other, and itself one.
 *
 *      checks    ──► 'check'  ─┐
 *      outliers  ──► 'outlier' ├─► reasons to leave a member out ──► none: its share grows from the floor to 1 ──► balancer.setShare
 *      breaker   ──► 'breaker' │                                 └─► any:  its share is 0
 *      hold()    ──► yours    ─┘
 *
 * Each kind of evidence holds a member for its own reason, and lets go of that reason only: a member that passes its checks again is
 * still out while its breaker is open, and one that you hold for a deployment does not come back because it answers.
 *
 * An open circuit that is half-open lets its probes through: for so many calls the member is in, though not healthy yet.
 */
import { type CircuitBreaker, circuitBreaker } from '../../protect/circuit-breaker/circuit-breaker.ts';
import type { InLine } from '../../protect/line.ts';
import { listenersOf } from '../../protect/listeners.ts';
import type { Pass } from '../../protect/protection.ts';
import { invalid } from '../../vocabulary/errors.ts';
import { withGetters } from '../../vocabulary/getters.ts';
import type { Balancer, Member, MemberOrId, MemberStats, Picked, PickOptions, PickOutcome } from '../balancer.ts';
import { ActiveChecks, type Checked, type CheckResult } from './active-checks.ts';
import { Agenda, type Appointment } from './agenda.ts';
import type { HealthSnapshot, MemberHealth } from './health-snapshot.ts';
import { type Conduct, consecutiveFailures, Outliers } from './outliers.ts';
import { type HealthCheckedOptions, readSettings, type SlowStartSettings } from './settings.ts';

export interface HealthEvents {
  /** What holds a member has changed. */
  change: { readonly id: string; readonly isHealthy: boolean; readonly reasons: readonly string[] };
  /** A check of a member has ended. */
  checked: { readonly id: string } & CheckResult;
  /** Too few are healthy, so all are used; or no longer. */
  panic: { readonly isPanicking: boolean };
  /** What cannot go on in the background: a clock that does not sleep, a member that was taken out behind its back. */
  error: { readonly error: unknown };
}

export interface HealthStats extends MemberStats {
  readonly isHealthy: boolean;
  readonly reasons: readonly string[];
  /** How often it was an outlier, less what has healed. */
  readonly ejections: number;
}

/** A member, taken until `done`. */
export interface HealthPicked<M extends Member = Member> extends Picked<M> {
  /**
   * How it goes, before it is over. Outliers and breaker learn it now, and from `done` only whether it has failed after all. For calls that
   * last: that they were answered says how the member is, and when they end may be up to somebody else.
   */
  answered(outcome: PickOutcome): void;
}

export interface HealthChecked<M extends Member = Member> extends Balancer<M> {
  pick(key?: string, options?: PickOptions): HealthPicked<M> | undefined;
  /** Too few are healthy, and all are used. */
  readonly isPanicking: boolean;
  /** Leaves a member out, for a reason of yours, until that reason is released. Whether it did not hold already. */
  hold(id: string, reason: string): boolean;
  /** Whether that reason held it. */
  release(id: string, reason: string): boolean;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof HealthEvents>(name: Name, listener: (event: HealthEvents[Name]) => void): () => void;
  stats(): readonly HealthStats[];
  /** What is known of everybody's health. */
  snapshot(): HealthSnapshot;
  /** Goes on from what another knew, of the members that both have. What its settings do not ask about is left out. */
  restore(snapshot: HealthSnapshot): void;
  /** Ends the checks and every timer. Picks go on with what is known. */
  close(): void;
}

/** A member, and what is known of its health. */
interface Watched<M extends Member> {
  readonly id: string;
  member: M;
  readonly reasons: Set<string>;
  /** How many of the reasons are yours. */
  byHand: number;
  /** As asked for with `setShare`. */
  share: number;
  /** How much of that it gets since it came back, and the next step of it. */
  warmth: number;
  warmingSinceMs: number;
  step: Appointment | undefined;
  /** When nothing holds it any more, it begins slowly. Not so the first time, unless newcomers are to. */
  isSlowNext: boolean;
  isGone: boolean;
  readonly conduct: Conduct | undefined;
  readmission: Appointment | undefined;
  readonly breaker: CircuitBreaker | undefined;
  look: Appointment | undefined;
  checked: Checked | undefined;
  /** What the balancer was last told. */
  shareTold: number;
}

const ownReasons = ['check', 'outlier', 'breaker'] as const;
type OwnReason = (typeof ownReasons)[number];

const mostReasons = 100;
const warmingSteps = 20;

export function healthChecked<M extends Member = Member>(
  balancer: Balancer<M>,
  options: HealthCheckedOptions<M> = {},
): HealthChecked<M> {
  if (typeof balancer?.pick !== 'function' || typeof balancer.setShare !== 'function')
    throw invalid('balancer', 'a balancer such as roundRobin(members)', balancer);
  const settings = readSettings(options);
  const { slowStart, panicBelow } = settings;
  const { on, tell } = listenersOf<HealthEvents>(['change', 'checked', 'panic', 'error']);
  const agenda = new Agenda(settings.clock, (error) => tell('error', { error }));
  const outliers = settings.outliers && new Outliers(settings.outliers);
  const checks = settings.checks && new ActiveChecks<M>(settings.checks, agenda, settings.random);
  const all = new Map<string, Watched<M>>();
  let healthy = 0;
  let heldByHand = 0;
  let isPanicking = false;
  let isClosed = false;

  const shares = new Map(balancer.stats().map(({ id, share }) => [id, share]));
  for (const member of balancer.members) watch(member, shares.get(member.id) ?? 1, false);
  settlePanic();

  function watch(member: M, share: number, isNewcomer: boolean): void {
    const isAwaited = settings.checks?.isFirstAwaited === true && !isClosed;
    const watched: Watched<M> = {
      id: member.id,
      member,
      reasons: new Set(isAwaited ? ['check'] : []),
      byHand: 0,
      share,
      warmth: 1,
      warmingSinceMs: 0,
      step: undefined,
      isSlowNext: isNewcomer && slowStart?.forNewcomers === true,
      isGone: false,
      conduct: outliers?.newConduct(),
      readmission: undefined,
      breaker: settings.breaker && circuitBreaker(settings.breaker),
      look: undefined,
      checked: undefined,
      shareTold: share,
    };
    all.set(member.id, watched);
    if (!isAwaited) welcome(watched);
    settle(watched);
    if (!isClosed) watched.checked = checks?.begin(reportsOf(watched));
    // Its first probe may have removed it.
    if (watched.isGone && watched.checked) checks?.end(watched.checked);
  }

  function reportsOf(watched: Watched<M>) {
    return {
      member: () => watched.member,
      told: (result: CheckResult) => tell('checked', { id: watched.id, ...result }),
      judged: (isWell: boolean) => (isWell ? letGo(watched, 'check') : takeOut(watched, 'check')),
    };
  }

  function forget(watched: Watched<M>): void {
    watched.isGone = true;
    all.delete(watched.id);
    if (watched.reasons.size === 0) healthy -= 1;
    if (watched.byHand > 0) heldByHand -= 1;
    if (watched.conduct) outliers?.forget(watched.conduct, agenda.now());
    for (const appointment of [watched.step, watched.readmission, watched.look]) agenda.cancel(appointment);
    // Last: it ends a probe and begins another's, and either may bring the same id back.
    if (watched.checked) checks?.end(watched.checked);
  }

  // Reasons.

  function takeOut(watched: Watched<M>, reason: string): boolean {
    if (watched.isGone || watched.reasons.has(reason)) return false;
    watched.reasons.add(reason);
    if (!isOwn(reason) && ++watched.byHand === 1) heldByHand += 1;
    if (watched.reasons.size === 1) {
      healthy -= 1;
      agenda.cancel(watched.step);
    }
    reasonsChanged(watched);
    spareOutliers();
    return true;
  }

  function letGo(watched: Watched<M>, reason: string): boolean {
    if (watched.isGone || !watched.reasons.delete(reason)) return false;
    if (!isOwn(reason) && --watched.byHand === 0) heldByHand -= 1;
    if (watched.reasons.size === 0) welcome(watched);
    reasonsChanged(watched);
    return true;
  }

  function reasonsChanged(watched: Watched<M>): void {
    settle(watched);
    settlePanic();
    const reasons = [...watched.reasons];
    tell('change', { id: watched.id, isHealthy: reasons.length === 0, reasons });
  }

  // What a member gets.

  /** Nothing holds it any more. */
  function welcome(watched: Watched<M>): void {
    healthy += 1;
    watched.warmth = 1;
    if (slowStart !== undefined && watched.isSlowNext) warm(watched, slowStart, agenda.now());
    watched.isSlowNext = true;
  }

  function warm(watched: Watched<M>, { floor, overMs }: SlowStartSettings, sinceMs: number): void {
    const done = Math.min(1, (agenda.now() - sinceMs) / overMs);
    watched.warmth = floor + (1 - floor) * done;
    watched.warmingSinceMs = sinceMs;
    watched.step = undefined;
    if (done === 1) return;
    watched.step = agenda.after(overMs / warmingSteps, () => {
      warm(watched, slowStart!, sinceMs);
      settle(watched);
    });
  }

  function settle(watched: Watched<M>): void {
    const share = shareOf(watched);
    if (share === watched.shareTold || watched.isGone) return;
    watched.shareTold = share;
    balancer.setShare(watched.id, share);
  }

  function shareOf(watched: Watched<M>): number {
    if (isPanicking && watched.byHand === 0) return watched.share;
    if (watched.reasons.size === 0) return watched.share * watched.warmth;
    return isProbing(watched) ? watched.share : 0;
  }

  /** Out for nothing but its circuit, which would let a call through. */
  function isProbing({ reasons, breaker }: Watched<M>): boolean {
    return reasons.size === 1 && reasons.has('breaker') && breaker!.retryAfterMs() === 0;
  }

  function settlePanic(): void {
    const usable = all.size - heldByHand;
    const isPanic = usable > 0 && healthy < panicBelow * usable;
    if (isPanic === isPanicking) return;
    isPanicking = isPanic;
    for (const watched of all.values()) settle(watched);
    tell('panic', { isPanicking });
  }

  // What calls say.

  /** Takes over where the circuit of a member stands, and looks again when time alone will have changed that. */
  function lookAtCircuit(watched: Watched<M>): void {
    const { breaker } = watched;
    if (breaker === undefined || watched.isGone) return;
    const { state } = breaker;
    if (state === 'closed' && !watched.reasons.has('breaker')) return;
    const waitMs = breaker.retryAfterMs();
    if (state === 'closed') letGo(watched, 'breaker');
    else if (!takeOut(watched, 'breaker')) settle(watched);
    agenda.cancel(watched.look);
    // Whoever was told of it may have removed the member.
    watched.look = waitMs > 0 && !watched.isGone ? agenda.after(waitMs, () => lookAtCircuit(watched)) : undefined;
  }

  /** Before anybody is told of it: who then removes the member takes this back as well. */
  function eject(watched: Watched<M>, conduct: Conduct, forMs: number): void {
    watched.readmission = agenda.after(forMs, () => {
      outliers!.readmit(conduct, agenda.now());
      letGo(watched, 'outlier');
    });
    takeOut(watched, 'outlier');
  }

  function listenToCall(watched: Watched<M>, heard: (conduct: Conduct, nowMs: number) => boolean): void {
    const { conduct } = watched;
    if (conduct === undefined || watched.isGone) return;
    const nowMs = agenda.now();
    if (heard(conduct, nowMs) && outliers!.mayEject(othersOf(watched)))
      eject(watched, conduct, outliers!.eject(conduct, nowMs));
  }

  /** Asked again when others have left, or are out for another reason: of more outliers than may be out, those come back that would be first. */
  function spareOutliers(): void {
    while (outliers?.ejected && !outliers.mayEject(othersOf(), 0)) {
      const [first] = [...all.values()]
        .filter(({ conduct }) => conduct!.isEjected)
        .sort((a, b) => a.readmission!.dueMs - b.readmission!.dueMs);
      agenda.cancel(first!.readmission);
      agenda.attempt(first!.readmission!.act);
    }
  }

  /** How many could be picked, without it. */
  function othersOf(watched?: Watched<M>): number {
    let others = 0;
    for (const other of all.values()) if (other !== watched && other.reasons.size === 0 && other.share > 0) others += 1;
    return others;
  }

  function pick(key?: string, pickOptions?: PickOptions): HealthPicked<M> | undefined {
    agenda.catchUp();
    const picked = balancer.pick(key, pickOptions);
    if (picked === undefined) return undefined;
    const watched = all.get(picked.member.id);
    if (watched === undefined) {
      return {
        member: picked.member,
        answered: (outcome) => picked.answered?.(outcome),
        done: (outcome) => picked.done(outcome),
      };
    }
    const pass = watched.breaker?.tryPass();
    if (watched.reasons.has('breaker')) lookAtCircuit(watched);
    return pickedOf(picked, watched, pass);
  }

  function pickedOf(picked: Picked<M>, watched: Watched<M>, pass: Pass | undefined): HealthPicked<M> {
    let isDone = false;
    let said: PickOutcome | undefined;
    /** Where it stands among the calls of its member, once it is answered well. */
    let place: InLine<number> | undefined;

    function end(outcome: PickOutcome): void {
      pass?.[outcome]();
      lookAtCircuit(watched);
      listenToCall(watched, (conduct, nowMs) => outliers!.heard(conduct, outcome, nowMs));
    }

    /** What was answered well is over. */
    function endAnswered(hasFailed: boolean): void {
      // A call of its own, to the circuit: what was said of this one is said.
      if (hasFailed) watched.breaker?.tryPass()?.failed();
      lookAtCircuit(watched);
      const at = place;
      if (at === undefined) return;
      listenToCall(watched, (conduct, nowMs) => outliers!.over(conduct, at, hasFailed, nowMs));
    }

    return {
      member: picked.member,
      answered(outcome) {
        if (isDone || said !== undefined) return;
        said = outcome;
        picked.answered?.(outcome);
        if (outcome !== 'ok') {
          end(outcome);
          return;
        }
        pass?.ok();
        lookAtCircuit(watched);
        listenToCall(watched, (conduct, nowMs) => {
          place = outliers!.heardWell(conduct, nowMs);
          return false;
        });
      },
      done(outcome = 'ok') {
        if (isDone) return;
        picked.done(outcome);
        isDone = true;
        if (said === undefined) end(outcome);
        else if (said === 'ok') endAnswered(outcome === 'failed');
      },
    };
  }

  // What another knew.

  function healthOf(watched: Watched<M>, nowMs: number): MemberHealth {
    const { id, reasons, checked, conduct, readmission, breaker, step, warmingSinceMs } = watched;
    return {
      id,
      reasons: [...reasons],
      checks: checked && { passes: checked.passes, failures: checked.failures },
      conduct: conduct && {
        consecutiveFailures: consecutiveFailures(conduct),
        ejections: conduct.ejections,
        inForMs: nowMs - conduct.returnedMs,
        ejectedForMs: conduct.isEjected ? Math.max(0, readmission!.dueMs - nowMs) : 0,
      },
      circuit: breaker?.snapshot(),
      warmingForMs: step === undefined || reasons.size > 0 ? undefined : nowMs - warmingSinceMs,
    };
  }

  function resume(watched: Watched<M>, known: MemberHealth): void {
    const nowMs = agenda.now();
    resumeChecks(watched, known);
    for (const reason of known.reasons) if (!isOwn(reason)) takeOut(watched, reason);
    if (watched.breaker && known.circuit) watched.breaker.restore(known.circuit);
    lookAtCircuit(watched);
    // Whoever was told of these may have removed it.
    if (watched.conduct && known.conduct && !watched.isGone) resumeConduct(watched, watched.conduct, known.conduct);
    if (slowStart === undefined || known.warmingForMs === undefined || watched.reasons.size > 0) return;
    agenda.cancel(watched.step);
    warm(watched, slowStart, nowMs - known.warmingForMs);
    settle(watched);
  }

  function resumeChecks(watched: Watched<M>, known: MemberHealth): void {
    const { checked } = watched;
    if (checked === undefined || known.checks === undefined) return;
    checked.passes = known.checks.passes;
    checked.failures = known.checks.failures;
    checked.passesWanted = settings.checks!.healthyAfter;
    if (known.reasons.includes('check')) takeOut(watched, 'check');
    else if (checked.passes > 0) letGo(watched, 'check');
  }

  function resumeConduct(watched: Watched<M>, conduct: Conduct, past: NonNullable<MemberHealth['conduct']>): void {
    outliers!.resume(conduct, past, agenda.now());
    if (past.ejectedForMs > 0 && outliers!.mayEject(othersOf(watched)))
      eject(watched, conduct, outliers!.resumeEjection(conduct, past.ejectedForMs));
  }

  function watchedOf(id: string): Watched<M> {
    const watched = all.get(id);
    if (watched === undefined) throw invalid('id', `the id of a member (${all.size} are there)`, id);
    return watched;
  }

  const methods: Omit<HealthChecked<M>, 'members' | 'isPanicking'> = {
    pick,
    add(given: MemberOrId<M>) {
      balancer.add(given);
      watch((typeof given === 'string' ? { id: given } : given) as M, 1, true);
      settlePanic();
    },
    remove(id) {
      const watched = all.get(id);
      // First of all: whoever is told of what follows must not find it here.
      const wasHere = balancer.remove(id);
      if (watched) forget(watched);
      settlePanic();
      spareOutliers();
      return wasHere;
    },
    update(id, changes) {
      const watched = watchedOf(id);
      balancer.update(id, changes);
      watched.member = { ...watched.member, ...changes };
    },
    setShare(id, share) {
      const watched = watchedOf(id);
      if (!(typeof share === 'number' && share >= 0 && share <= 1))
        throw invalid('share', 'a number from 0 to 1', share);
      watched.share = share;
      settle(watched);
      spareOutliers();
    },
    hold(id, reason) {
      checkReason(reason);
      const watched = all.get(id);
      if (watched && watched.reasons.size >= mostReasons && !watched.reasons.has(reason))
        throw invalid('reason', `one of at most ${mostReasons} for a member`, reason);
      return watched !== undefined && takeOut(watched, reason);
    },
    release(id, reason) {
      checkReason(reason);
      const watched = all.get(id);
      return watched !== undefined && letGo(watched, reason);
    },
    on,
    stats() {
      agenda.catchUp();
      return balancer.stats().map((stats) => {
        const watched = all.get(stats.id);
        const reasons = [...(watched?.reasons ?? [])];
        return { ...stats, isHealthy: reasons.length === 0, reasons, ejections: watched?.conduct?.ejections ?? 0 };
      });
    },
    snapshot() {
      agenda.catchUp();
      const nowMs = agenda.now();
      return { members: [...all.values()].map((watched) => healthOf(watched, nowMs)) };
    },
    restore(snapshot) {
      for (const known of snapshot.members) {
        const watched = all.get(known.id);
        if (watched) resume(watched, known);
      }
    },
    close() {
      isClosed = true;
      checks?.close();
      for (const { checked } of all.values()) if (checked) checks?.end(checked);
      agenda.close();
    },
  };
  return withGetters<HealthChecked<M>, 'members' | 'isPanicking'>(methods, {
    members: () => balancer.members,
    isPanicking: () => isPanicking,
  });
}

function isOwn(reason: string): reason is OwnReason {
  return (ownReasons as readonly string[]).includes(reason);
}

function checkReason(reason: string): void {
  if (typeof reason !== 'string' || reason === '' || isOwn(reason))
    throw invalid('reason', `a text of your own, other than ${ownReasons.join(', ')}`, reason);
}
