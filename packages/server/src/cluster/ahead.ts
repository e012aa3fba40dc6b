/** How much of each key was carried out that its standby has not confirmed. */
export class Ahead {
  // Not by one text for both: making it takes as long as counting.
  private readonly byName = new Map<string, Map<string, number>>();

  /** A key gets ahead by so much; says how far it is now. */
  add(name: string, key: string, cost: number): number {
    let byKey = this.byName.get(name);
    if (byKey === undefined) {
      byKey = new Map();
      this.byName.set(name, byKey);
    }
    const aheadBy = (byKey.get(key) ?? 0) + cost;
    if (aheadBy > 0) byKey.set(key, aheadBy);
    return aheadBy;
  }

  /** So much of a key was confirmed. */
  confirm(name: string, key: string, cost: number): void {
    const byKey = this.byName.get(name);
    if (byKey === undefined) return;
    const aheadBy = (byKey.get(key) ?? 0) - cost;
    if (aheadBy > 0) byKey.set(key, aheadBy);
    else if (byKey.delete(key) && byKey.size === 0) this.byName.delete(name);
  }
}
