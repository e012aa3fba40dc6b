/**
 * Keeps replies in the order of their commands while some have to wait.
 *
 *      commands    A(later) B C(later) D          sent one after the other, and all under way at once
 *      replies     -------- b -------- d          b and d are kept here until those before them are there
 */
export interface Place {
  /** Undefined until the answer is there. */
  reply: Buffer | undefined;
  next: Place | undefined;
}

export class ReplyQueue {
  /** Places, answered or not. */
  length = 0;
  /** Of replies that are kept. */
  bytes = 0;
  private first: Place | undefined;
  private last: Place | undefined;

  add(reply: Buffer | undefined): Place {
    const place: Place = { reply, next: undefined };
    if (this.last) this.last.next = place;
    else this.first = place;
    this.last = place;
    this.length += 1;
    this.bytes += reply?.length ?? 0;
    return place;
  }

  fill(place: Place, reply: Buffer): void {
    place.reply = reply;
    this.bytes += reply.length;
  }

  /** The next reply that waits for nobody, taken out; undefined when there is none. */
  take(): Buffer | undefined {
    const { first } = this;
    const reply = first?.reply;
    if (first === undefined || reply === undefined) return undefined;
    this.first = first.next;
    if (this.first === undefined) this.last = undefined;
    // One that is old when it is taken would keep all that came after it, for the quick collections, as long as it is not collected itself.
    first.next = undefined;
    this.length -= 1;
    this.bytes -= reply.length;
    return reply;
  }
}
