/**
 * Points on a circle in two flat arrays, in the order of their places, and a table that says where in them to look:
 *
 *      place >>> shift ──► starts  │ 0 │ 2 │ 2 │ 5 │ ...          a slice of the circle: from this point up to that one
 *                                    │       └──┐
 *                          places  │ 3 │ 9 │ 34 │ 36 │ 41 │ ...   Uint32Array, ascending
 *                          owners  │ B │ A │ C  │ A  │ B  │ ...   whose point it is
 *
 * A slice holds a few points, next to each other in memory, so a point among millions is found as fast as one among hundreds.
 * A change sorts only what changes: what lies between is moved in whole pieces, which is what memory is fastest at.
 */

/** What has points here. Its number is its own as long as it has any. */
export interface Owner {
  readonly id: string;
  readonly number: number;
}

export interface Points<O extends Owner> {
  readonly owner: O;
  readonly places: ArrayLike<number>;
}

/** Owners' numbers are below this: a place and a number fit into one double together, and doubles sort fast. */
export const mostOwners = 2 ** 21;

const pointsPerSlice = 8;

export class Ring<O extends Owner> {
  size = 0;
  /** Both may be longer than `size`: room for the next ones. */
  private places = new Uint32Array(0);
  private owners = new Uint32Array(0);
  private starts = new Uint32Array(3);
  private shift = 31;
  private readonly byNumber: O[] = [];

  /** Takes points away that are here, and puts others in. */
  change(leaving: readonly Points<O>[], coming: readonly Points<O>[]): void {
    if (leaving.length > 0) this.takeOut(this.positionsOf(sorted(leaving)));
    for (const { owner } of coming) this.byNumber[owner.number] = owner;
    if (coming.length > 0) this.putIn(sorted(coming));
  }

  /** The first point at a place or after it; the circle closes. There must be a point. */
  find(place: number): number {
    const point = this.firstFrom(place);
    return point === this.size ? 0 : point;
  }

  next(point: number): number {
    return point + 1 === this.size ? 0 : point + 1;
  }

  ownerOf(point: number): O {
    return this.byNumber[this.owners[point]!]!;
  }

  placeOf(point: number): number {
    return this.places[point]!;
  }

  private firstFrom(place: number): number {
    const { places, starts } = this;
    const slice = place >>> this.shift;
    let low = starts[slice]!;
    let high = starts[slice + 1]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (places[middle]! < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where these points lie, ascending. */
  private positionsOf(points: Float64Array): Uint32Array {
    const { owners } = this;
    const positions = new Uint32Array(points.length);
    for (let i = 0; i < points.length; i += 1) {
      let at = this.firstFrom(placeIn(points[i]!));
      // One owner may have two points at one place: each is found once.
      if (points[i] === points[i - 1]) at = positions[i - 1]! + 1;
      while (owners[at] !== numberIn(points[i]!)) at += 1;
      positions[i] = at;
    }
    // Points at one place are in another order here.
    return positions.sort();
  }

  private takeOut(positions: Uint32Array): void {
    const { places, owners, size } = this;
    for (let i = 0; i < positions.length; i += 1) {
      const from = positions[i]! + 1;
      const end = positions[i + 1] ?? size;
      places.copyWithin(from - 1 - i, from, end);
      owners.copyWithin(from - 1 - i, from, end);
    }
    this.size -= positions.length;
    this.slice();
  }

  private putIn(points: Float64Array): void {
    this.orderTies(points);
    const positions = new Uint32Array(points.length);
    for (let i = 0; i < points.length; i += 1) positions[i] = this.positionFor(points[i]!);
    let end = this.size;
    this.size += points.length;
    this.makeRoom();
    const { places, owners } = this;
    // From behind, so that nothing is written over what has yet to be moved.
    for (let i = points.length - 1; i >= 0; i -= 1) {
      const from = positions[i]!;
      places.copyWithin(from + i + 1, from, end);
      owners.copyWithin(from + i + 1, from, end);
      places[from + i] = placeIn(points[i]!);
      owners[from + i] = numberIn(points[i]!);
      end = from;
    }
    this.slice();
  }

  /** Points at one place are ordered by id: who came first must not decide whose keys they are. */
  private orderTies(points: Float64Array): void {
    for (let i = 1; i < points.length; i += 1) {
      const point = points[i]!;
      let at = i;
      for (; at > 0 && placeIn(points[at - 1]!) === placeIn(point); at -= 1) {
        if (this.idIn(points[at - 1]!) <= this.idIn(point)) break;
        points[at] = points[at - 1]!;
      }
      points[at] = point;
    }
  }

  /** Behind all that are to be before it. */
  private positionFor(point: number): number {
    const place = placeIn(point);
    let at = this.firstFrom(place);
    while (at < this.size && this.places[at] === place && this.ownerOf(at).id <= this.idIn(point)) at += 1;
    return at;
  }

  private idIn(point: number): string {
    return this.byNumber[numberIn(point)]!.id;
  }

  private makeRoom(): void {
    if (this.size <= this.places.length) return;
    const length = Math.ceil(1.125 * this.size);
    this.places = grown(this.places, length);
    this.owners = grown(this.owners, length);
  }

  private slice(): void {
    const { places, size } = this;
    const bits = Math.max(1, 31 - Math.clz32(size / pointsPerSlice));
    const shift = 32 - bits;
    const starts = new Uint32Array(2 ** bits + 1);
    let next = 1;
    for (let i = 0; i < size; i += 1) {
      for (const slice = places[i]! >>> shift; next <= slice; next += 1) starts[next] = i;
    }
    starts.fill(size, next);
    this.starts = starts;
    this.shift = shift;
  }
}

/** Each as one number, ascending. */
function sorted<O extends Owner>(all: readonly Points<O>[]): Float64Array {
  const size = all.reduce((sum, { places }) => sum + places.length, 0);
  const points = new Float64Array(size);
  let at = 0;
  for (const { owner, places } of all) {
    for (let i = 0; i < places.length; i += 1, at += 1) points[at] = places[i]! * mostOwners + owner.number;
  }
  return points.sort();
}

function placeIn(point: number): number {
  return Math.floor(point / mostOwners);
}

function numberIn(point: number): number {
  return point % mostOwners;
}

function grown(numbers: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(length);
  longer.set(numbers);
  return longer;
}
