import type { Check } from '../../stores/store.ts';

/** What was sent for the ids of the latest requests. More of them push out the oldest. */
const most = 10_000;

export class RecentIds {
  private readonly sent = new Map<string, readonly Check[]>();

  find(id: string | undefined): readonly Check[] | undefined {
    return id === undefined ? undefined : this.sent.get(id);
  }

  add(id: string | undefined, checks: readonly Check[]): void {
    if (id === undefined) return;
    this.sent.set(id, checks);
    if (this.sent.size > most) this.sent.delete(this.sent.keys().next().value!);
  }
}
