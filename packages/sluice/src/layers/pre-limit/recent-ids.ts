/** The ids of the latest requests. More of them push out the oldest. */
const most = 10_000;

export class RecentIds {
  private readonly ids = new Set<string>();

  has(id: string | undefined): boolean {
    return id !== undefined && this.ids.has(id);
  }

  add(id: string | undefined): void {
    if (id === undefined) return;
    this.ids.add(id);
    if (this.ids.size > most) this.ids.delete(this.ids.values().next().value!);
  }
}
