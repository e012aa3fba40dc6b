/**
 * Those who wait with one priority. Between tenants it is the fair scheduler's turn order: whoever has had least for its weight goes next.
 * Within a tenant it is first come, first served.
 *
 *      tenant a   │ 1 │ 4 │ 5 │ 6 │       the candidate is the first of the tenant whose turn it is;
 *      tenant b   │ 2 │                    who must go is the last of the tenant that has most
 *      tenant c   │ 3 │ 7 │
 *
 * A request that waited is charged an estimate when it begins, and what it took when it ends. One that found a free place is charged when
 * it ends, and only for the time in which others had to wait: what nobody else wanted costs nothing, and this way a request that
 * never waits never comes here.
 *
 * Newcomers begin at the least that anybody was charged. Were there ever more of them (a name can be made up for each request),
 * they would go before a tenant that has had something for ever. So some turns belong to whoever was passed over for longest.
 */
import type { Clock } from 'sluice';
import { type FairScheduler, fairScheduler } from 'sluice/schedule';
import { Line } from './line.ts';
import { Loads, loadOf } from './loads.ts';
import type { Account, Waiter } from './waiter.ts';

const nobody = '';

// One turn in so many may go to whoever was passed over: few enough to leave shares what they are.
const turnsOfFairness = 16;

export interface LevelSettings {
  readonly priority: number;
  readonly clock: Clock;
  weightOf(tenant: string): number;
  /** With more at once, those who come then are one tenant: that of all who gave no name. Default 100,000. */
  readonly mostTenants?: number;
}

export class Level {
  readonly priority: number;
  /** How many wait. */
  size = 0;
  private readonly settings: LevelSettings;
  private readonly mostTenants: number;
  private readonly fair: FairScheduler;
  private readonly accounts = new Map<string, Account>();
  private readonly loads = new Loads();
  /** Tenants with somebody waiting, the one whose last turn is longest ago first. */
  private readonly passedOver = new Line<Account>();
  private turns = 0;
  /** Since when somebody waits. */
  private busySinceMs = 0;

  constructor(settings: LevelSettings) {
    this.settings = settings;
    this.priority = settings.priority;
    this.mostTenants = settings.mostTenants ?? 100_000;
    this.fair = fairScheduler({ maxTenants: this.mostTenants + 1, clock: settings.clock });
  }

  add(waiter: Waiter, nowMs: number): void {
    const account = this.accountOf(waiter.tenant, nowMs);
    const { line, name } = account;
    waiter.account = account;
    waiter.inAccount = line.add(waiter);
    if (line.length === 1) {
      this.fair.wake(name, nowMs);
      account.sinceMs = nowMs;
      account.inPassedOver = this.passedOver.add(account);
    }
    this.loads.update(account);
    if (this.size === 0) this.busySinceMs = nowMs;
    this.size += 1;
  }

  /** Who of those that wait here goes next. `passedOverMs`: for so long nobody may be passed over. */
  candidate(nowMs: number, passedOverMs: number): Waiter | undefined {
    const longest = this.passedOver.first;
    const isItsTurn = this.turns % turnsOfFairness === turnsOfFairness - 1;
    if (longest && isItsTurn && nowMs - longest.sinceMs >= passedOverMs) return longest.line.first;
    const tenant = this.fair.next(nowMs);
    return tenant === undefined ? undefined : this.accounts.get(tenant)?.line.first;
  }

  /** The candidate goes. What it was charged to is what `ended` is told. */
  take(waiter: Waiter, nowMs: number): Account {
    const account = waiter.account!;
    this.turns += 1;
    account.running += 1;
    // Before it may fall asleep: in between, the least that anybody was charged would rise past it.
    this.fair.begin(account.name, nowMs);
    this.leave(waiter, account);
    if (account.inPassedOver) {
      this.passedOver.remove(account.inPassedOver);
      account.sinceMs = nowMs;
      account.inPassedOver = this.passedOver.add(account);
    }
    return account;
  }

  /** Somebody stops waiting, and does not begin. */
  remove(waiter: Waiter): void {
    const account = waiter.account!;
    this.leave(waiter, account);
    this.forgetIfIdle(account);
  }

  /** What was taken has ended. */
  ended(account: Account, elapsedMs: number, nowMs: number): void {
    account.running -= 1;
    this.fair.end(account.name, elapsedMs, nowMs);
    this.forgetIfIdle(account);
  }

  /** A request that had found a free place has ended while others wait. */
  endedWithoutWaiting(tenant: string, beganMs: number, nowMs: number): void {
    const account = this.accountOf(tenant, nowMs);
    this.fair.charge(account.name, Math.max(0, nowMs - Math.max(beganMs, this.busySinceMs)));
    this.forgetIfIdle(account);
  }

  /** Who must go when there are too many: undefined where there is nobody, or where it is the newcomer of this tenant itself. */
  worst(newcomer?: string): Waiter | undefined {
    const most = this.loads.most();
    if (most === undefined || newcomer === undefined) return most?.line.last;
    const waiting = this.accounts.get(newcomer)?.line.length ?? 0;
    // Among equals it is the newcomer: it must not push out another's.
    return (waiting + 1) / this.settings.weightOf(newcomer) >= loadOf(most) ? undefined : most.line.last;
  }

  /** After weights have changed. */
  weigh(): void {
    for (const account of this.accounts.values()) {
      const weight = this.settings.weightOf(account.name);
      if (weight === account.weight) continue;
      account.weight = weight;
      this.fair.add(account.name, { weight });
      this.loads.update(account);
    }
  }

  private leave(waiter: Waiter, account: Account): void {
    account.line.remove(waiter.inAccount!);
    waiter.inAccount = undefined;
    waiter.account = undefined;
    this.size -= 1;
    this.loads.update(account);
    if (account.line.length > 0) return;
    this.fair.block(account.name);
    this.passedOver.remove(account.inPassedOver!);
    account.inPassedOver = undefined;
  }

  private accountOf(tenant: string, nowMs: number): Account {
    const known = this.accounts.get(tenant);
    if (known) return known;
    if (this.accounts.size >= this.mostTenants && tenant !== nobody) return this.accountOf(nobody, nowMs);
    // A copy: what was cut out of a request's head would keep all of that head in memory, for as long as the name is remembered.
    const name = Buffer.from(tenant, 'utf16le').toString('utf16le');
    const weight = this.settings.weightOf(name);
    this.fair.add(name, { weight }, nowMs);
    this.fair.block(name);
    const account: Account = {
      name,
      weight,
      line: new Line(),
      running: 0,
      sinceMs: 0,
      inPassedOver: undefined,
      load: undefined,
    };
    this.accounts.set(name, account);
    return account;
  }

  /** The fair scheduler remembers what it owes, for as long as that matters. */
  private forgetIfIdle({ name, line, running }: Account): void {
    if (line.length > 0 || running > 0) return;
    this.fair.remove(name);
    this.accounts.delete(name);
  }
}
