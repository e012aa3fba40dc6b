/**
 * The growing arrays of a trace. Lines may come in any order: entries lie as they came, and are put in the order of time once somebody needs it.
 * Sorting the whole at the end is exact however late a line comes, and costs a log that is in order nothing but a comparison.
 */
import { type ClientTable, LATEST_ENTRY, LATEST_TICK, RECORD_WORDS } from './client-table.ts';

const firstCapacity = 4096;
// So many places written to in turn stay in the cache.
const digits = 2 ** 11;

export class Entries {
  length = 0;
  isSorted = true;
  /** Whether an entry holds calls of different costs: only where they did not fit otherwise. */
  hasAveragedCosts = false;
  atTicks = new Float64Array(firstCapacity);
  clients = new Uint32Array(firstCapacity);
  calls = new Uint32Array(firstCapacity);
  costs = new Float64Array(firstCapacity);
  #latestTick = Number.NEGATIVE_INFINITY;
  #isAveraging = false;
  readonly #table: ClientTable;
  readonly #max: number;

  constructor(table: ClientTable, max: number) {
    this.#table = table;
    this.#max = max;
  }

  get isFull(): boolean {
    return this.length >= this.#max;
  }

  /** One call, into the client's entry of this tick if that is its latest and its calls cost as much. There must be room. */
  add(client: number, tick: number, cost: number): void {
    const { records } = this.#table;
    const record = client * RECORD_WORDS;
    const latest = records[record + LATEST_ENTRY]! - 1;
    if (latest >= 0 && records[record + LATEST_TICK] === tick >>> 0 && this.atTicks[latest] === tick) {
      if (this.#joins(latest, 1, cost)) return;
    }
    const entry = this.length;
    if (entry === this.atTicks.length) this.#grow();
    this.atTicks[entry] = tick;
    this.clients[entry] = client;
    this.calls[entry] = 1;
    this.costs[entry] = cost;
    records[record + LATEST_ENTRY] = entry + 1;
    records[record + LATEST_TICK] = tick;
    this.length = entry + 1;
    if (tick >= this.#latestTick) this.#latestTick = tick;
    else this.isSorted = false;
  }

  /** Adds calls to an entry of their client and tick, unless they cost more or less than its own. */
  #joins(entry: number, calls: number, cost: number): boolean {
    const own = this.costs[entry]! * calls;
    const other = cost * this.calls[entry]!;
    // Sums of fractions round.
    if (Math.abs(own - other) > own * 1e-12) {
      if (!this.#isAveraging) return false;
      this.hasAveragedCosts = true;
    }
    this.calls[entry]! += calls;
    this.costs[entry]! += cost;
    return true;
  }

  /** From now on calls of one client and tick are one entry, whatever they cost. Sorted before. */
  averageCosts(): void {
    if (this.#isAveraging) return;
    this.#isAveraging = true;
    this.rewrite(1);
  }

  #grow(): void {
    const capacity = Math.min(2 * this.atTicks.length, Math.max(this.#max, firstCapacity));
    this.atTicks = copied(this.atTicks, new Float64Array(capacity));
    this.clients = copied(this.clients, new Uint32Array(capacity));
    this.calls = copied(this.calls, new Uint32Array(capacity));
    this.costs = copied(this.costs, new Float64Array(capacity));
  }

  /** In the order of time; those of one tick in the order in which they came. */
  sort(): void {
    if (this.isSorted) return;
    const order = orderOf(this.atTicks, this.length);
    this.atTicks = picked(this.atTicks, new Float64Array(this.atTicks.length), order);
    this.clients = picked(this.clients, new Uint32Array(this.clients.length), order);
    this.calls = picked(this.calls, new Uint32Array(this.calls.length), order);
    this.costs = picked(this.costs, new Float64Array(this.costs.length), order);
    this.isSorted = true;
    // What came in between has kept calls of one client, tick and cost apart.
    this.rewrite(1);
  }

  /** How many there would be if so many ticks were one. Sorted before. */
  countAt(ticksPerTick: number): number {
    const tickOf = new Float64Array(this.#table.count).fill(Number.NaN);
    let count = 0;
    for (let i = 0; i < this.length; i += 1) {
      const tick = Math.floor(this.atTicks[i]! / ticksPerTick);
      if (tickOf[this.clients[i]!] === tick) continue;
      tickOf[this.clients[i]!] = tick;
      count += 1;
    }
    return count;
  }

  /** Makes so many ticks one, and gives clients their new numbers; entries of those who have none (-1) go. Says how many calls went. */
  rewrite(ticksPerTick: number, newClients?: Int32Array): number {
    const { length } = this;
    this.#table.forgetLatestEntries();
    const { records } = this.#table;
    let to = 0;
    let callsGone = 0;
    for (let from = 0; from < length; from += 1) {
      const old = this.clients[from]!;
      const client = newClients ? newClients[old]! : old;
      if (client < 0) {
        callsGone += this.calls[from]!;
        continue;
      }
      const tick = Math.floor(this.atTicks[from]! / ticksPerTick);
      const record = client * RECORD_WORDS;
      const latest = records[record + LATEST_ENTRY]! - 1;
      if (latest >= 0 && this.atTicks[latest] === tick && this.#joins(latest, this.calls[from]!, this.costs[from]!))
        continue;
      this.atTicks[to] = tick;
      this.clients[to] = client;
      this.calls[to] = this.calls[from]!;
      this.costs[to] = this.costs[from]!;
      to += 1;
      records[record + LATEST_ENTRY] = to;
      records[record + LATEST_TICK] = tick;
    }
    this.length = to;
    this.#latestTick = Math.floor(this.#latestTick / ticksPerTick);
    return callsGone;
  }

  /** Each tick becomes so many. */
  refine(ticksPerTick: number): void {
    for (let i = 0; i < this.length; i += 1) this.atTicks[i]! *= ticksPerTick;
    this.#latestTick *= ticksPerTick;
    this.rewrite(1);
  }

  /** The first tick becomes 0; says which it was. Sorted before. */
  rebase(): number {
    const first = this.length === 0 ? 0 : this.atTicks[0]!;
    if (first !== 0) for (let i = 0; i < this.length; i += 1) this.atTicks[i]! -= first;
    this.#latestTick -= first;
    return first;
  }
}

function copied<T extends Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

function picked<T extends Float64Array | Uint32Array>(from: T, to: T, order: Uint32Array): T {
  for (let i = 0; i < order.length; i += 1) to[i] = from[order[i]!]!;
  return to;
}

/** Places in the order of their keys, equal ones as they were: a radix sort, as keys are whole numbers and millions. */
function orderOf(keys: Float64Array, length: number): Uint32Array {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < length; i += 1) {
    const key = keys[i]!;
    if (key < least) least = key;
    if (key > most) most = key;
  }
  let order = new Uint32Array(length);
  let next = new Uint32Array(length);
  for (let i = 0; i < length; i += 1) order[i] = i;
  for (let scale = 1; scale <= most - least; scale *= digits) {
    deal(order, next, keys, least, 1 / scale);
    [order, next] = [next, order];
  }
  return order;
}

/** One pass of the radix sort: places by one digit of their keys. */
function deal(order: Uint32Array, next: Uint32Array, keys: Float64Array, least: number, inverseScale: number): void {
  const starts = new Uint32Array(digits + 1);
  for (let i = 0; i < order.length; i += 1) {
    const digit = ((keys[i]! - least) * inverseScale) & (digits - 1);
    starts[digit + 1]! += 1;
  }
  for (let digit = 0; digit < digits; digit += 1) starts[digit + 1]! += starts[digit]!;
  for (let i = 0; i < order.length; i += 1) {
    const place = order[i]!;
    const digit = ((keys[place]! - least) * inverseScale) & (digits - 1);
    next[starts[digit]!] = place;
    starts[digit]! += 1;
  }
}
