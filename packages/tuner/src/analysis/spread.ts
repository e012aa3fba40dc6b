/**
 * How a number is spread over clients: quantiles and a histogram, each client counted as often as its weight.
 *
 *      clients ┤▇
 *              ┤▇ ▇
 *              ┤▇ ▇ ▅ ▃ ▂ ▁     ▁       bins are equally wide on a logarithmic scale: clients that call a thousand times
 *              └┴─┴─┴─┴─┴─┴─┴─┴─┴─►     as often as others are usual, and are to be seen in the same picture
 *               1 2 3 4 6 8 12  …
 */
import type { ClientList } from '../trace/trace.ts';

/** Nearest rank: the least number that so many of the clients do not exceed. 0 where there are no clients. */
export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface Bin {
  readonly from: number;
  /** Exclusive. */
  readonly below: number;
  /** Clients in it; where the log was thinned, how many they stand for. */
  readonly clients: number;
}

/** Numbers in ascending order, with the weight of their clients. */
export interface Spread {
  readonly values: Float64Array;
  readonly weights: Float64Array;
  /** All weights together. */
  readonly clients: number;
}

export function spreadOf(values: ArrayLike<number>, { count, weightOf }: ClientList): Spread {
  // A comparison function for a million clients would cost more than all the rest. There are but two weights: equal ones are sorted by
  // themselves, and then merged.
  const counts = new Map<number, number>();
  for (let client = 0; client < count; client += 1) {
    const weight = weightOf(client);
    counts.set(weight, (counts.get(weight) ?? 0) + 1);
  }
  let spread: Spread = { values: new Float64Array(0), weights: new Float64Array(0), clients: 0 };
  for (const [weight, clients] of counts) {
    const group = new Float64Array(clients);
    for (let client = 0, place = 0; place < clients; client += 1) {
      if (weightOf(client) === weight) group[place++] = values[client]!;
    }
    spread = merged(spread, group.sort(), weight);
  }
  return spread;
}

function merged(spread: Spread, added: Float64Array, weight: number): Spread {
  const length = spread.values.length + added.length;
  const values = new Float64Array(length);
  const weights = new Float64Array(length);
  for (let i = 0, a = 0, b = 0; i < length; i += 1) {
    const isOld = b === added.length || spread.values[a]! <= added[b]!;
    values[i] = isOld ? spread.values[a]! : added[b]!;
    weights[i] = isOld ? spread.weights[a]! : weight;
    if (isOld) a += 1;
    else b += 1;
  }
  return { values, weights, clients: spread.clients + weight * added.length };
}

export function quantilesOf({ values, weights, clients }: Spread): Quantiles {
  const ratios = [0.5, 0.9, 0.99, 0.999];
  const found: number[] = [];
  let passed = 0;
  for (let i = 0; i < values.length && found.length < ratios.length; i += 1) {
    passed += weights[i]!;
    while (found.length < ratios.length && passed >= ratios[found.length]! * clients) found.push(values[i]!);
  }
  const [p50 = 0, p90 = 0, p99 = 0, p999 = 0] = found;
  return { p50, p90, p99, p999, max: values.at(-1) ?? 0 };
}

/** Whole numbers that are apart by about the root of 2: 1, 2, 3, 4, 6, 8, 12, 16, 23, 32, … */
function* edges(): Generator<number> {
  for (let step = 0, last = 0; ; step += 1) {
    const edge = Math.ceil(2 ** (step / 2) - 1e-9);
    if (edge > last) yield edge;
    last = edge;
  }
}

/** From the least to the largest number, empty bins between them included. What is below 1 is in a bin of its own. */
export function binsOf({ values, weights }: Spread): Bin[] {
  const bins: Bin[] = [];
  let from = 0;
  let place = 0;
  for (const below of edges()) {
    if (place === values.length) break;
    let clients = 0;
    for (; place < values.length && values[place]! < below; place += 1) clients += weights[place]!;
    if (clients > 0 || bins.length > 0) bins.push({ from, below, clients });
    from = below;
  }
  return bins;
}

/** The `most` places with the largest values, the largest first; of equal ones the earlier first. */
export function largest(count: number, sizeOf: (place: number) => number, most: number): number[] {
  const found: number[] = [];
  for (let place = 0; place < count; place += 1) {
    const size = sizeOf(place);
    if (found.length === most && sizeOf(found.at(-1)!) >= size) continue;
    let at = found.length;
    while (at > 0 && sizeOf(found[at - 1]!) < size) at -= 1;
    found.splice(at, 0, place);
    if (found.length > most) found.pop();
  }
  return found;
}
