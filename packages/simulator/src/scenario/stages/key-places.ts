/** How many keys are sent elsewhere because a server came or went: each key's first pick after that, beside its last one before. */

/** Beyond, further keys are not followed. */
const mostKeys = 1_000_000;

export class KeyPlaces {
  private readonly latest = new Map<string, { id: string; change: number }>();
  private change = 0;
  private compared = 0;
  private moved = 0;

  noteChange(): void {
    this.change += 1;
  }

  note(key: string, id: string): void {
    const known = this.latest.get(key);
    if (!known) {
      if (this.latest.size < mostKeys) this.latest.set(key, { id, change: this.change });
      return;
    }
    if (known.change < this.change) {
      this.compared += 1;
      if (known.id !== id) this.moved += 1;
      known.change = this.change;
    }
    known.id = id;
  }

  get movedRatio(): number | undefined {
    return this.compared === 0 ? undefined : this.moved / this.compared;
  }
}
