/** The requests of a connection that are under way, in the order in which they will be answered. */
export class RequestRing {
  length = 0;
  private first = 0;
  private readonly ring: Float64Array;

  constructor(capacity: number) {
    this.ring = new Float64Array(capacity);
  }

  get room(): number {
    return this.ring.length - this.length;
  }

  push(request: number): void {
    this.ring[(this.first + this.length) % this.ring.length] = request;
    this.length += 1;
  }

  shift(): number {
    if (this.length === 0) throw new Error('an answer came that nobody had asked for');
    const request = this.ring[this.first]!;
    this.first = (this.first + 1) % this.ring.length;
    this.length -= 1;
    return request;
  }

  all(): readonly number[] {
    return Array.from({ length: this.length }, (_, i) => this.ring[(this.first + i) % this.ring.length]!);
  }
}
