/**
 * What an adaptive throttle comes to, on paper.
 *
 * In balance it sends k calls for each that is accepted, whatever is asked for. Of g + r (k - 1) g work, with r for the cost of a
 * refusal, the service can do 1; so
 *
 *      goodput = 1 / (1 + r (k - 1))            and for a goodput of G:  k = 1 + (1 / G - 1) / r
 *
 * And as it sends k times what was accepted over the last window, more than that it does not grow by. Left alone by the service,
 * what it sends grows as e^(x t / window), where
 *
 *      x / (1 - e^-x) = k
 *
 * so a small k is careful with a service that is overloaded, and slow to return to one that was away.
 */

/** The share of the capacity that is of use, once the throttles of all clients are in balance. */
export function goodputOf(k: number, rejectionCost: number): number {
  return 1 / (1 + rejectionCost * (k - 1));
}

/** The largest k that still has this goodput. */
export function largestK(goodput: number, rejectionCost: number): number {
  return 1 + (1 / goodput - 1) / rejectionCost;
}

/**
 * After the service was away for longer than the window: how long until 9 of 10 calls are made again, from the 1 of 10 that
 * always are. Those have to be seen for a part of the window first.
 */
export function returnMs(k: number, windowMs: number): number {
  return windowMs / k + (windowMs * Math.log(9)) / growthPerWindow(k);
}

function growthPerWindow(k: number): number {
  // x / (1 - e^-x) lies between x and 1 + x, and grows with x.
  let low = k - 1;
  let high = k;
  for (let halvings = 0; halvings < 60; halvings += 1) {
    const middle = (low + high) / 2;
    if (middle / -Math.expm1(-middle) < k) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
