/** First in, first out: an array that is read from its front, without moving what is behind at every step. */
export class Fifo<T> {
  private items: (T | undefined)[] = [];
  private front = 0;

  get length(): number {
    return this.items.length - this.front;
  }

  push(item: T): void {
    this.items.push(item);
  }

  first(): T | undefined {
    return this.items[this.front];
  }

  shift(): T | undefined {
    const item = this.items[this.front];
    if (item === undefined) return undefined;
    this.items[this.front] = undefined;
    this.front += 1;
    if (this.front === this.items.length) {
      this.items.length = 0;
      this.front = 0;
    } else if (this.front >= 1024 && 2 * this.front >= this.items.length) {
      this.items.splice(0, this.front);
      this.front = 0;
    }
    return item;
  }

  /** Everything, and nothing is left. */
  take(): T[] {
    const all = this.items.slice(this.front) as T[];
    this.items = [];
    this.front = 0;
    return all;
  }
}
