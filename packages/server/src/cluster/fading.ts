/** What is known of keys until a time comes; the shard's own time, whatever the clock shows. */

// Fewer are not worth looking for those that no longer matter.
const few = 16;

export class Fading<T extends { readonly untilMs: number }> {
  private readonly all = new Map<string, T>();
  private most = few;

  get(id: string): T | undefined {
    return this.all.get(id);
  }

  /** Now and then it looks for those whose time has come: no timer, and at most twice as many as matter. */
  set(id: string, known: T, nowMs: number): void {
    this.all.set(id, known);
    if (this.all.size < this.most) return;
    this.forget(nowMs);
    this.most = Math.max(few, 2 * this.all.size);
  }

  forget(nowMs: number): void {
    for (const [id, { untilMs }] of this.all) if (untilMs <= nowMs) this.all.delete(id);
  }

  /** Also those whose time has come, as far as nobody has looked for them. */
  entries(): [id: string, known: T][] {
    return [...this.all];
  }

  clear(): void {
    this.all.clear();
  }
}
