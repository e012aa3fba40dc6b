/**
 * What is under way: whoever comes is told its place, and when it leaves, the last one takes that place.
 *
 *      places   A B C D        B leaves        A D C
 *
 * Not a `Set`, for whatever comes and goes with every request: each table that a set (or a map) outgrows keeps those of its time, and points at the next
 * table. Once such a table is old, the quick collections of V8 take everything behind it for alive, so that requests that ended long ago wait for the full
 * collections, which become many and stand still for tens of milliseconds.
 */
export interface Placed {
  /** Among those under way, while it is one of them; set by them. */
  place: number;
}

export class UnderWay<Member extends Placed> {
  readonly #members: Member[] = [];

  get count(): number {
    return this.#members.length;
  }

  add(member: Member): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Of one that has left before, nothing. */
  delete(member: Member): void {
    if (!this.#has(member)) return;
    const last = this.#members.pop()!;
    if (last === member) return;
    last.place = member.place;
    this.#members[member.place] = last;
  }

  find(isWanted: (member: Member) => boolean): Member | undefined {
    return this.#members.find(isWanted);
  }

  /** Each once that is there now and has not left when its turn comes. */
  *[Symbol.iterator](): Iterator<Member> {
    for (const member of [...this.#members]) if (this.#has(member)) yield member;
  }

  #has(member: Member): boolean {
    return this.#members[member.place] === member;
  }
}
