/**
 * The store in a Sluice cluster: every key has one owner, which counts it in memory, and this client asks it directly.
 *
 *      apply ──► whose keys? ──► one owner ───────────────► its connection, with all others of this turn ──► answer in time, or doubt
 *                     └────────► several: reserve on all, then keep or cancel
 *
 * What is not known is an error of code `store-unavailable`, never a grant: no answer within the deadline, a lost connection, a slot
 * that nobody owns. `degrade` and rules decide what becomes of it. A plain `sluice serve` is a cluster of one node.
 */
import { randomBytes } from 'node:crypto';
import { algorithmOf, mustSupport } from '../algorithms/algorithm.ts';
import { applyAcrossSlots } from '../stores/across-slots.ts';
import { mustBeId } from '../stores/answer-once.ts';
import { slotOf } from '../stores/slot.ts';
import type { Check, Operation, Store } from '../stores/store.ts';
import type { Decision } from '../vocabulary/decision.ts';
import { invalid, SluiceError } from '../vocabulary/errors.ts';
import { checkCost } from '../vocabulary/policy.ts';
import { Call, type Departure, type Sender } from './call.ts';
import { Deadlines } from './deadlines.ts';
import { Departures } from './departures.ts';
import { type ConnectionSettings, endpointOf, type NodeConnection, unavailable } from './node-connection.ts';
import { type ClusterSettings, type ClusterStoreOptions, settingsOf } from './options.ts';
import { addressOf } from './slot-map.ts';
import { Topology } from './topology.ts';
import { mostChecks } from './wire.ts';

export interface ClusterStoreStats {
  /** Nodes that are connected to now. */
  readonly connections: number;
  /** Questions that are on their way now. */
  readonly pending: number;
  /** Grants that came after the deadline, or for a call that had failed by then. Nobody used them; they count as spent. */
  readonly lateGrants: number;
  /** Calls that got no answer in time. */
  readonly timeouts: number;
  /** How often a call was sent again, with the same id. */
  readonly resent: number;
  /** How often a node said that another owns a slot. */
  readonly moved: number;
  /** Connections that ended, or could not be opened. */
  readonly lostConnections: number;
  /** How often the slot map was told by a node. */
  readonly refreshes: number;
  /** Reservations on some owners that could not be cancelled when another refused; they count as spent. */
  readonly lostCancels: number;
}

export interface ClusterStore extends Store<'async'> {
  stats(): ClusterStoreStats;
  /** Ends all connections; calls that are under way fail. */
  close(): Promise<void>;
}

export function clusterStore(options: ClusterStoreOptions): ClusterStore {
  return new Client(settingsOf(options));
}

class Client implements ClusterStore, Sender {
  readonly mode = 'async';
  readonly clock: ClusterSettings['clock'];
  readonly deadlineMs: number;
  readonly now: () => number;
  readonly timeOfChecks: () => number;
  private readonly topology: Topology;
  private readonly deadlines: Deadlines;
  private readonly departures: Departures;
  private readonly maxPending: number;
  // 128 random bits, once; with a number behind them they are another id for each batch.
  private readonly idPrefix = randomBytes(16).toString('base64url');
  private batches = 0;
  private waitingForMap = 0;
  private isClosed = false;
  private dirty: NodeConnection[] = [];
  private readonly counts = { lateGrants: 0, timeouts: 0, resent: 0, moved: 0, lostConnections: 0, lostCancels: 0 };

  constructor(settings: ClusterSettings) {
    const { clock, ageClock, deadlineMs, token, tls, maxPending, connectTimeoutMs } = settings;
    this.clock = clock;
    this.now = () => ageClock.now();
    this.timeOfChecks = () => clock.now();
    this.deadlineMs = deadlineMs;
    this.maxPending = maxPending;
    const connections: ConnectionSettings = {
      token,
      tls,
      maxPending,
      connectTimeoutMs,
      now: this.now,
      onReady: (connection) => this.flushSoon(connection),
      onConnecting: () => this.deadlines.arm(),
      onLost: () => this.lostConnection(),
    };
    this.topology = new Topology(settings.seeds, connections, settings.maxConnections, ageClock);
    this.deadlines = new Deadlines(ageClock, deadlineMs, this.topology);
    this.departures = new Departures(this.now, this.idPrefix);
  }

  apply(checks: readonly Check[], atMs?: number, requestId?: string): Promise<Decision[]> {
    // Not an async function: that would cost each call a promise more.
    try {
      return this.begin(checks, atMs, requestId);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  stats(): ClusterStoreStats {
    const { connections, pending, refreshes } = this.topology;
    return { connections, pending: pending + this.waitingForMap, refreshes, ...this.counts };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.topology.close();
    this.deadlines.close();
  }

  private begin(
    checks: readonly Check[],
    atMs: number | undefined,
    requestId: string | undefined,
  ): Promise<Decision[]> {
    if (atMs !== undefined) {
      throw invalid('atMs', 'left out with a cluster', atMs, 'Its nodes decide by their own time.');
    }
    if (requestId !== undefined) mustBeId(requestId);
    if (checks.length === 0) return Promise.resolve([]);
    if (checks.length > mostChecks) throw invalid('checks', `at most ${mostChecks}`, checks.length);
    let asked = checks;
    for (let i = 0; i < checks.length; i += 1) asked = checked(asked, i);
    if (this.topology.map.isEmpty) return this.beginWithMap(asked, requestId);
    return this.ask(asked, requestId);
  }

  private async beginWithMap(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    if (this.isClosed) throw closed();
    if (this.waitingForMap >= this.maxPending) {
      throw unavailable(`${this.waitingForMap} calls wait for the cluster to be found already.`);
    }
    this.waitingForMap += 1;
    try {
      await this.topology.ready();
    } finally {
      this.waitingForMap -= 1;
    }
    return this.ask(checks, requestId);
  }

  private ask(checks: readonly Check[], requestId: string | undefined): Promise<Decision[]> {
    if (requestId !== undefined) return this.askAgain(checks, requestId);
    this.batches += 1;
    return this.dispatch(checks, this.idPrefix + this.batches.toString(36), false, { firstSentMs: Number.NaN });
  }

  /** A batch that the caller may have sent before: then what it is answered may be too old from the beginning. */
  private askAgain(checks: readonly Check[], requestId: string): Promise<Decision[]> {
    const departure = this.departures.of(requestId, checks.some(isTimely));
    if (this.now() - departure.firstSentMs > this.deadlineMs) {
      return Promise.reject(unavailable(`Request ${requestId} was sent before, more than ${this.deadlineMs} ms ago.`));
    }
    return this.dispatch(checks, departure.sentAs, true, departure);
  }

  private dispatch(
    checks: readonly Check[],
    requestId: string,
    isRepeatable: boolean,
    departure: Departure,
  ): Promise<Decision[]> {
    if (this.isClosed) return Promise.reject(closed());
    const owner = this.ownerOf(checks);
    if (owner === several) return this.askSeveral(checks, requestId, isRepeatable, departure);
    if (owner === undefined) return Promise.reject(this.unowned());
    return new Promise((resolve, reject) => {
      this.send(new Call(this, checks, requestId, isRepeatable, departure, resolve, reject), owner);
    });
  }

  private send(call: Call, owner: NodeConnection): void {
    call.address = owner.address;
    owner.send(call);
  }

  private ownerOf(checks: readonly Check[]): NodeConnection | typeof several | undefined {
    const { map } = this.topology;
    const owner = map.ownerOf(slotOf((checks[0] as Check).key));
    for (let i = 1; i < checks.length; i += 1) {
      const other = map.ownerOf(slotOf((checks[i] as Check).key));
      if (other === undefined) return undefined;
      if (other !== owner) return several;
    }
    return owner;
  }

  /** Some slot has no owner that anybody knows. */
  private unowned(): SluiceError {
    this.topology.refreshSoon();
    return unavailable('Nobody owns the slot of a key: the cluster is changing, or has lost a node.');
  }

  private async askSeveral(
    checks: readonly Check[],
    requestId: string,
    isRepeatable: boolean,
    departure: Departure,
  ): Promise<Decision[]> {
    const byOwner = new Map<NodeConnection, [place: number, check: Check][]>();
    for (const [i, check] of checks.entries()) {
      const owner = this.topology.map.ownerOf(slotOf(check.key));
      if (owner === undefined) throw this.unowned();
      const others = byOwner.get(owner);
      if (others) others.push([i, check]);
      else byOwner.set(owner, [[i, check]]);
    }
    const decisions = await applyAcrossSlots(
      [...byOwner.values()],
      (part, step) =>
        this.dispatch(
          part,
          `${requestId} ${step}`,
          isRepeatable,
          // What is given back may be given back late.
          step === 'reserve' ? departure : { firstSentMs: Number.NaN },
        ),
      isRepeatable,
      () => {
        this.counts.lostCancels += 1;
      },
    );
    // The first owner's answer has waited for the last one's.
    if (this.now() - departure.firstSentMs <= this.deadlineMs) return decisions;
    this.late(decisions, checks);
    this.counts.timeouts += 1;
    throw unavailable(`The owners of the keys did not answer within ${this.deadlineMs} ms.`);
  }

  // --- What calls ask for ---

  departed(call: Call): void {
    this.deadlines.add(call);
  }

  sendAgain(call: Call): void {
    const owner = this.ownerOf(call.checks);
    this.counts.resent += 1;
    if (this.isClosed) call.fail(closed());
    else if (owner === undefined) call.fail(this.unowned());
    else if (owner !== several) this.send(call, owner);
    else {
      // It was for one owner, and its keys are of several now.
      this.askSeveral(call.checks, call.requestId, call.isRepeatable, call.departure).then(
        (decisions) => call.succeed(decisions),
        (error) => call.fail(error),
      );
    }
  }

  moved(slot: number, address: string, call: Call): void {
    this.counts.moved += 1;
    try {
      const { host, port } = endpointOf(address);
      const owner = addressOf(host === '' ? endpointOf(call.address).host : host, port);
      this.topology.map.set(slot, this.topology.nodeAt(owner));
    } catch (error) {
      call.fail(error as SluiceError);
      return;
    }
    this.topology.refreshSoon();
    call.tryAgain(unavailable(`${call.address} says that slot ${slot} belongs to ${address}, again and again.`));
  }

  doubted(address: string): void {
    this.topology.doubt(address);
  }

  expired(): void {
    this.counts.timeouts += 1;
  }

  late(decisions: readonly Decision[], checks: readonly Check[]): void {
    if (decisions.some(({ allowed }, i) => allowed && takes.includes(checks[i]?.operation)))
      this.counts.lateGrants += 1;
  }

  // --- Connections ---

  private lostConnection(): void {
    if (this.isClosed) return;
    this.counts.lostConnections += 1;
    if (!this.topology.map.isEmpty) this.topology.refreshSoon();
  }

  private flushSoon(connection: NodeConnection): void {
    if (this.dirty.length === 0) setImmediate(this.flush);
    if (!this.dirty.includes(connection)) this.dirty.push(connection);
  }

  /** Everything of this turn of the event loop. Read once, and before the first byte leaves: no call is younger than it looks. */
  private readonly flush = (): void => {
    const nowMs = this.now();
    const { dirty } = this;
    this.dirty = [];
    for (const connection of dirty) connection.flush(nowMs);
  };
}

const several = Symbol('several owners');
const takes: readonly (Operation | undefined)[] = [undefined, 'check', 'reserve', 'acquire', 'take'];

/** Whether something may be done for a while because of a yes to it: then it matters how old the yes is. */
function isTimely({ operation }: Check): boolean {
  return takes.includes(operation) || operation === 'renew';
}

function closed(): SluiceError {
  return new SluiceError('store-unavailable', 'The client of the cluster was closed.');
}

/** The checks with the one at `i` as it may be sent; a copy only where it has to be changed. */
function checked(checks: readonly Check[], i: number): readonly Check[] {
  const check = checks[i] as Check;
  const { name, key, policy, operation, actual } = check;
  if (typeof key !== 'string') throw invalid('key', 'a string', key);
  if (typeof name !== 'string') throw invalid('name', 'a string', name);
  const algorithm = algorithmOf(policy);
  mustSupport(algorithm, operation ?? 'check');
  const cost = checkCost(check.cost);
  algorithm.mustTake?.(cost);
  if (actual !== undefined) checkCost(actual);
  return cost === check.cost ? checks : checks.map((each, at) => (at === i ? { ...check, cost } : each));
}
