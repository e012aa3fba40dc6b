/**
 * What balancers come to, on paper. Times are in mean services, `load` is the share of the time that servers are busy: above 0, below 1.
 */

/** Random: each of the queues is an M/M/1 of its own. 1 / (mu - lambda / N). */
export function randomResponse(load: number): number {
  return 1 / (1 - load);
}

/** Random, and every service takes the same: M/D/1 (Pollaczek and Khinchine). */
export function randomResponseFixed(load: number): number {
  return 1 + load / (2 * (1 - load));
}

/**
 * Round robin: a queue gets every Nth arrival, an E_N/M/1. With s for the chance to find its server busy,
 * s = (N load / (N load + 1 - s))^N and the response is 1 / (1 - s).
 */
export function roundRobinResponse(load: number, servers: number): number {
  const arrivals = servers * load;
  // s = 1 is a solution as well. Coming from 0 the other one is met first.
  let busy = 0;
  for (let i = 0; i < 10_000; i += 1) busy = (arrivals / (arrivals + 1 - busy)) ** servers;
  return 1 / (1 - busy);
}

/** Two choices among very many servers: the sum of load^(2^i - 2) (Vvedenskaya, Dobrushin and Karpelevich 1996; Mitzenmacher 1996). */
export function twoChoicesResponse(load: number): number {
  let sum = 0;
  for (let i = 1; i < 60; i += 1) sum += load ** (2 ** i - 2);
  return sum;
}

/** The chance that an arrival finds all servers of an M/M/N busy. */
export function erlangC(load: number, servers: number): number {
  const offered = load * servers;
  // Erlang's B by its recursion, which never leaves the range of numbers, as factorials would.
  let blocked = 1;
  for (let i = 1; i <= servers; i += 1) blocked = (offered * blocked) / (i + offered * blocked);
  return blocked / (1 - load * (1 - blocked));
}

/** The floor: one queue before all servers, M/M/N. */
export function oneQueueResponse(load: number, servers: number): number {
  return 1 + erlangC(load, servers) / (servers * (1 - load));
}

/** Of N balls in N bins at random, to leading order. */
export function fullestAtRandom(bins: number): number {
  return Math.log(bins) / Math.log(Math.log(bins));
}

/** The same with two choices, to leading order; a constant that does not grow with N is left out. */
export function fullestOfTwo(bins: number): number {
  return Math.log(Math.log(bins)) / Math.log(2);
}

/** What the fullest bin has on average, where bins with at least k balls are a share `atLeast[k]` of all, and know nothing of each other. */
export function expectedFullest(atLeast: readonly number[], bins: number): number {
  // -expm1(bins log1p(-share)) is 1 - (1 - share)^bins, also for shares that 1 - share would round away.
  return atLeast.slice(1).reduce((sum, share) => sum + (share >= 1 ? 1 : -Math.expm1(bins * Math.log1p(-share))), 0);
}

const mostBalls = 30;

/** At random a bin has a Poisson number of balls, 1 on average. */
export function sharesAtRandom(): number[] {
  const atLeast: number[] = [];
  let exactly = Math.exp(-1);
  // From above, so that the small ones are not lost in the rounding of the large ones.
  const chances = Array.from({ length: mostBalls + 20 }, (_, k) => {
    const chance = exactly;
    exactly /= k + 1;
    return chance;
  });
  let sum = 0;
  for (let k = chances.length - 1; k >= 0; k -= 1) {
    sum += chances[k]!;
    atLeast[k] = sum;
  }
  return atLeast.slice(0, mostBalls);
}

/** With two choices the shares follow s'(k) = s(k - 1)^2 - s(k)^2 from 0 to 1 ball per bin (Mitzenmacher 1996). */
export function sharesOfTwo(): number[] {
  const steps = 100_000;
  const atLeast = Array.from({ length: mostBalls }, (_, k) => (k === 0 ? 1 : 0));
  for (let step = 0; step < steps; step += 1) {
    for (let k = mostBalls - 1; k >= 1; k -= 1) atLeast[k]! += (atLeast[k - 1]! ** 2 - atLeast[k]! ** 2) / steps;
  }
  return atLeast;
}

/**
 * How much a member's share of the keys on a ring varies, as a part of it: by its arcs, which are a Beta(points, points * (members - 1)),
 * and by which keys there are.
 */
export function ringDeviation(points: number, members: number, keys = Number.POSITIVE_INFINITY): number {
  return Math.sqrt((members - 1) / (points * members + 1) + (members - 1) / keys);
}
