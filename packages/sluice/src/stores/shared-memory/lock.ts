/**
 * A lock that nobody can hold for ever. It is one number: even when free, odd when held, and it only ever grows.
 *
 *      4 ──take──► 5 ──give back──► 6            5 for too long: 5 ──break──► 7, and whoever had it finds out
 *                                                                            when giving back: 5 is no longer there
 *
 * Whoever dies (or is stopped) inside leaves an odd number behind. Those who wait see it stand still and take over after
 * a while; what the lock protected may then be torn, and whoever takes it over is told so.
 */

// So many looks before going to sleep: what a lock protects takes a microsecond or two.
const looks = 5000;
const napMs = 1;

// On the main thread of a browser nobody may sleep; there one goes on looking.
let maySleep = true;

function nap(words: Int32Array, at: number, seen: number): void {
  try {
    if (maySleep) Atomics.wait(words, at, seen, napMs);
  } catch {
    // It says so by throwing, and will say so each time.
    maySleep = false;
  }
}

/**
 * Takes the lock, waiting as long as it moves; one that has stood still for `patienceMs` is broken, and `brokenAt` counts it.
 * The number it has from now on is the token to give it back with: read again later, it could be somebody else's.
 *
 * @param whenBroken is called with the token when it had to be broken
 */
export function take(
  words: Int32Array,
  at: number,
  patienceMs: number,
  brokenAt: number,
  whenBroken?: (at: number, token: number) => void,
): number {
  let standing = 0;
  let sinceMs = 0;
  for (let look = 0; ; look += 1) {
    const seen = Atomics.load(words, at);
    if ((seen & 1) === 0) {
      if (Atomics.compareExchange(words, at, seen, seen + 1) === seen) return seen + 1;
      continue;
    }
    if (seen !== standing) {
      standing = seen;
      sinceMs = performance.now();
    }
    if (look < looks) continue;
    nap(words, at, seen);
    if (performance.now() - sinceMs < patienceMs) continue;
    const token = breakOpen(words, at, seen, brokenAt);
    if (token === 0) continue;
    whenBroken?.(at, token);
    return token;
  }
}

/** Takes the lock from a holder who is taken for dead, if it still stands at that number; 0 if it has moved. `brokenAt` counts it. */
export function breakOpen(words: Int32Array, at: number, seen: number, brokenAt: number): number {
  if (Atomics.compareExchange(words, at, seen, seen + 2) !== seen) return 0;
  Atomics.add(words, brokenAt, 1);
  return seen + 2;
}

/** Takes the lock if it is free; 0 if it is not. */
export function tryTake(words: Int32Array, at: number): number {
  const seen = Atomics.load(words, at);
  return (seen & 1) === 0 && Atomics.compareExchange(words, at, seen, seen + 1) === seen ? seen + 1 : 0;
}

/** Gives the lock back as `token`, the number it had when it was taken; false when it was broken meanwhile. */
export function giveBack(words: Int32Array, at: number, token: number): boolean {
  return Atomics.compareExchange(words, at, token, token + 1) === token;
}
