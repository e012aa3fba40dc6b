/**
 * Refusals whose responses are not over. What was refused has taken nothing; but express-rate-limit, which counts refusals too, gives a hit
 * back for every response of a certain kind, and says only whose. Were those of refusals believed, being refused would be the way to more:
 *
 *      increment ──► refused: noted here                     5 of 5 used
 *      decrement ──► one is noted: it is that one's,         5 of 5 used, and not 4
 *                    and nothing is given back
 *
 * Of a refused and a granted request of one key nobody can say which one ended; whichever did, in the end as many are given back as took something.
 * A refusal is noted for as long as express-rate-limit would give it back: until its own `resetTime`.
 */

interface Noted {
  readonly count: number;
  readonly untilMs: number;
}

const defaultMaxKeys = 10_000;

export class Refusals {
  readonly #noted = new Map<string, Noted>();
  readonly #maxKeys: number;
  /** There was no room to note a refusal that may be given back until then: nobody is given anything, or it might be that one. */
  #unknownUntilMs = 0;
  /** Before this no note ends. */
  #nextEndMs = 0;

  constructor(maxKeys = defaultMaxKeys) {
    this.#maxKeys = maxKeys;
  }

  note(key: string, untilMs: number, nowMs: number): void {
    const before = this.#noted.get(key);
    if (before === undefined && !this.#hasRoom(nowMs)) {
      this.#unknownUntilMs = Math.max(this.#unknownUntilMs, untilMs);
      return;
    }
    const stillNoted = before !== undefined && nowMs < before.untilMs ? before : { count: 0, untilMs };
    this.#noted.set(key, { count: stillNoted.count + 1, untilMs: Math.max(stillNoted.untilMs, untilMs) });
  }

  /** Whether what is to be given back may be a refusal's. It is taken off the list. */
  mayBe(key: string, nowMs: number): boolean {
    const noted = this.#noted.get(key);
    if (noted === undefined || nowMs >= noted.untilMs) return nowMs < this.#unknownUntilMs;
    if (noted.count === 1) this.#noted.delete(key);
    else this.#noted.set(key, { ...noted, count: noted.count - 1 });
    return true;
  }

  /** The key begins anew: what its refusals held back belongs to what it takes from now on. */
  forget(key: string): void {
    this.#noted.delete(key);
  }

  #hasRoom(nowMs: number): boolean {
    if (this.#noted.size < this.#maxKeys) return true;
    if (nowMs < this.#nextEndMs) return false;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const [key, { untilMs }] of this.#noted) {
      if (nowMs >= untilMs) this.#noted.delete(key);
      else this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
    }
    return this.#noted.size < this.#maxKeys;
  }
}
