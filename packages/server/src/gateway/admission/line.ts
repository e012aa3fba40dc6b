/** First come, first served, and anybody may leave from wherever they stand: each step takes the same time however long the line is. */
export interface InLine<T> {
  readonly value: T;
}

interface Link<T> extends InLine<T> {
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

export class Line<T> {
  length = 0;
  private head: Link<T> | undefined;
  private tail: Link<T> | undefined;

  get first(): T | undefined {
    return this.head?.value;
  }

  get last(): T | undefined {
    return this.tail?.value;
  }

  add(value: T): InLine<T> {
    const link: Link<T> = { value, before: this.tail, after: undefined };
    if (this.tail) this.tail.after = link;
    else this.head = link;
    this.tail = link;
    this.length += 1;
    return link;
  }

  /** Somebody who is in it. */
  remove(place: InLine<T>): void {
    const link = place as Link<T>;
    if (link.before) link.before.after = link.after;
    else this.head = link.after;
    if (link.after) link.after.before = link.before;
    else this.tail = link.before;
    // Whoever still holds it must not hold everybody who came after.
    link.before = link.after = undefined;
    this.length -= 1;
  }
}
