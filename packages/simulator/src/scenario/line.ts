/** First come, first served. */
export class Line<T> {
  private items: (T | undefined)[] = [];
  private first = 0;

  get length(): number {
    return this.items.length - this.first;
  }

  add(item: T): void {
    this.items.push(item);
  }

  take(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.items[this.first];
    // Kept no longer: what has left would be looked at by every collection of garbage.
    this.items[this.first] = undefined;
    this.first += 1;
    // The places of those who have left are cut off now and then, not each time.
    if (this.length === 0 || this.first > 1024) {
      this.items.splice(0, this.first);
      this.first = 0;
    }
    return item;
  }
}
