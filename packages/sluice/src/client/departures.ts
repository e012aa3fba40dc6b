/**
 * When batches left that have an id of the caller's own. A caller may send such a batch again, and gets the answer it got the first time:
 * how old that is counts from the first sending, not from the latest, or a grant could be used long after its owner counted it.
 *
 * Of too many, the oldest are forgotten while their servers may still remember them. From then on what may be granted, and is not known, goes under
 * another id than the caller's: it may be counted twice, but no grant that was given to an earlier sending is taken for a fresh one.
 */
import type { Departure } from './call.ts';

// Longer than a server gives an answer again.
const keptMs = 90_000;
const mostIds = 10_000;

export interface NamedDeparture extends Departure {
  /** The id that servers see. */
  readonly sentAs: string;
}

export class Departures {
  private readonly now: () => number;
  private readonly prefix: string;
  private recent = new Map<string, NamedDeparture>();
  private older = new Map<string, NamedDeparture>();
  private recentUntilMs = Number.NEGATIVE_INFINITY;
  /** How often some were forgotten too early. */
  private losses = 0;

  /** @param prefix what no caller's id has in it */
  constructor(now: () => number, prefix: string) {
    this.now = now;
    this.prefix = prefix;
  }

  /** @param isTimely whether a grant may come of it; what only gives back is the same request, however late it is sent again */
  of(requestId: string, isTimely: boolean): NamedDeparture {
    const known = this.recent.get(requestId) ?? this.older.get(requestId);
    if (known) return known;
    const nowMs = this.now();
    if (nowMs >= this.recentUntilMs || this.recent.size >= mostIds) {
      if (nowMs < this.recentUntilMs && this.older.size > 0) this.losses += 1;
      this.older = this.recent;
      this.recent = new Map();
      this.recentUntilMs = nowMs + keptMs;
    }
    const sentAs = isTimely && this.losses > 0 ? `${requestId} ${this.prefix}-${this.losses}` : requestId;
    const departure = { firstSentMs: Number.NaN, sentAs };
    this.recent.set(requestId, departure);
    return departure;
  }
}
