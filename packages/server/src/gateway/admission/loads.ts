/**
 * Which tenant has most requests waiting for its weight? They come and go one by one, so nothing has to be sorted: tenants of equal weight
 * stand by their number of requests, and change to the neighbouring line.
 *
 *      weight 1    1: a, d    2: c    7: b  ◄── 7 / 1       the most is one of these ends: there are as many as
 *      weight 3    4: e       9: f          ◄── 9 / 3       there are different weights, however many tenants
 */
import { Line } from './line.ts';
import type { Account } from './waiter.ts';

export class Loads {
  /** By weight, and then by how many wait. No line at an end is empty. */
  private readonly byWeight = new Map<number, Line<Account>[]>();

  /** After its weight, or the number of those who wait, has changed. */
  update(account: Account): void {
    this.remove(account);
    const { weight, line } = account;
    const count = line.length;
    if (count === 0) return;
    let lines = this.byWeight.get(weight);
    if (lines === undefined) {
      lines = [];
      this.byWeight.set(weight, lines);
    }
    lines[count] ??= new Line();
    account.load = { weight, count, place: lines[count].add(account) };
  }

  /** Among equals, who came to have so many last. */
  most(): Account | undefined {
    let most: Account | undefined;
    for (const lines of this.byWeight.values()) {
      const last = lines.at(-1)?.last;
      if (last && (most === undefined || loadOf(last) > loadOf(most))) most = last;
    }
    return most;
  }

  private remove(account: Account): void {
    if (account.load === undefined) return;
    const { weight, count, place } = account.load;
    account.load = undefined;
    const lines = this.byWeight.get(weight)!;
    lines[count]!.remove(place);
    while (lines.length > 0 && !lines.at(-1)?.length) lines.pop();
    if (lines.length === 0) this.byWeight.delete(weight);
  }
}

export function loadOf({ line, weight }: Account): number {
  return line.length / weight;
}
