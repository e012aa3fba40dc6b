/**
 * Something per key, made when it is first asked for, and for no more keys than fit: keys come from outside. A newcomer takes the
 * place of the one that was not used for longest among those that are idle; where none is, of the one not used for longest.
 *
 * Whoever still holds one that had to leave goes on with it; the next who asks gets a new one.
 */
export class LatestUsed<V> {
  private readonly maxKeys: number;
  private readonly make: (key: string) => V;
  private readonly isIdle: (value: V) => boolean;
  // A Map keeps the order in which keys were put in: the first is the one not used for longest.
  private readonly values = new Map<string, V>();

  constructor(maxKeys: number, make: (key: string) => V, isIdle: (value: V) => boolean) {
    this.maxKeys = maxKeys;
    this.make = make;
    this.isIdle = isIdle;
  }

  get size(): number {
    return this.values.size;
  }

  get(key: string): V {
    let value = this.values.get(key);
    if (value === undefined) {
      if (this.values.size >= this.maxKeys) this.values.delete(this.leaver());
      value = this.make(key);
    } else {
      this.values.delete(key);
    }
    this.values.set(key, value);
    return value;
  }

  /** Without making one, and without using it. */
  peek(key: string): V | undefined {
    return this.values.get(key);
  }

  entries(): IterableIterator<[string, V]> {
    return this.values.entries();
  }

  private leaver(): string {
    for (const [key, value] of this.values) if (this.isIdle(value)) return key;
    return this.values.keys().next().value as string;
  }
}
