/**
 * First in, first out, and anybody may leave from wherever they stand, each in constant time. An array that is shifted moves
 * everybody at every step; a `Set` leaves holes at its head that whoever asks for the first has to walk over.
 */
export interface InLine<T> {
  readonly value: T;
}

interface Link<T> extends InLine<T> {
  before: Link<T> | undefined;
  after: Link<T> | undefined;
  isIn: boolean;
}

export class Line<T> {
  length = 0;
  private head: Link<T> | undefined;
  private tail: Link<T> | undefined;

  /** Whoever has been in it for longest. */
  get first(): InLine<T> | undefined {
    return this.head;
  }

  /** Whoever came last of those that are in it. */
  get last(): InLine<T> | undefined {
    return this.tail;
  }

  add(value: T): InLine<T> {
    const link: Link<T> = { value, before: this.tail, after: undefined, isIn: true };
    if (this.tail) this.tail.after = link;
    else this.head = link;
    this.tail = link;
    this.length += 1;
    return link;
  }

  /** Whether it was still in line. */
  remove(place: InLine<T>): boolean {
    const link = place as Link<T>;
    if (!link.isIn) return false;
    link.isIn = false;
    if (link.before) link.before.after = link.after;
    else this.head = link.after;
    if (link.after) link.after.before = link.before;
    else this.tail = link.before;
    // Its owner may hold it for as long as a task hangs. With it, it would hold everybody who ever came after.
    link.before = link.after = undefined;
    this.length -= 1;
    return true;
  }
}
