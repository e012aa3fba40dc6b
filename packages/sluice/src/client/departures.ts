/**
 * When batches left that have an id of the caller's own. A caller may send such a batch again, and gets the answer it got the first time:
 * how old that is counts from the first sending, not from the latest, or a grant could be used long after its owner counted it.
 */
import type { Departure } from './call.ts';

// Longer than a server gives an answer again.
const keptMs = 60_000;
const mostIds = 10_000;

export class Departures {
  private readonly now: () => number;
  private recent = new Map<string, Departure>();
  private older = new Map<string, Departure>();
  private recentUntilMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.now = now;
  }

  of(requestId: string): Departure {
    const known = this.recent.get(requestId) ?? this.older.get(requestId);
    if (known) return known;
    const nowMs = this.now();
    if (nowMs >= this.recentUntilMs || this.recent.size >= mostIds) {
      this.older = this.recent;
      this.recent = new Map();
      this.recentUntilMs = nowMs + keptMs;
    }
    const departure = { firstSentMs: Number.NaN };
    this.recent.set(requestId, departure);
    return departure;
  }
}
