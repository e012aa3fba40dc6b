/**
 * A ring of fixed-width entries in a key's cells, oldest first: nothing is ever shifted.
 *
 *      cells: │ first │ count │ capacity │ base │ total │ entry 0 │ entry 1 │ ... │
 *
 * `base` and `total` belong to the algorithm. The entries' positions wrap around at `capacity`.
 */
const FIRST = 0;
export const COUNT = 1;
const CAPACITY = 2;
export const BASE = 3;
export const TOTAL = 4;
const HEADER = 5;

/** How many cells a ring of this capacity takes. */
export function ringCells(capacity: number, width: number): number {
  return HEADER + capacity * width;
}

export function clearRing(cells: Float64Array, at: number, capacity: number): void {
  cells[at + FIRST] = 0;
  cells[at + COUNT] = 0;
  cells[at + CAPACITY] = capacity;
  cells[at + BASE] = 0;
  cells[at + TOTAL] = 0;
}

/** Where entry `i`, counted from the oldest, begins. */
export function entryAt(cells: Float64Array, at: number, width: number, i: number): number {
  let position = cells[at + FIRST]! + i;
  if (position >= cells[at + CAPACITY]!) position -= cells[at + CAPACITY]!;
  return at + HEADER + position * width;
}

export function dropOldest(cells: Float64Array, at: number, howMany: number): void {
  if (howMany === 0) return;
  cells[at + FIRST] = (cells[at + FIRST]! + howMany) % cells[at + CAPACITY]!;
  cells[at + COUNT]! -= howMany;
}

export function isFull(cells: Float64Array, at: number): boolean {
  return cells[at + COUNT] === cells[at + CAPACITY];
}

/** Makes room for a new entry at the end and says where it begins. The ring must not be full. */
export function append(cells: Float64Array, at: number, width: number): number {
  cells[at + COUNT]! += 1;
  return entryAt(cells, at, width, cells[at + COUNT]! - 1);
}

/** A copy with another capacity, its entries laid out from the start. */
export function resized(cells: Float64Array, width: number, capacity: number): Float64Array {
  const larger = new Float64Array(ringCells(capacity, width));
  clearRing(larger, 0, capacity);
  larger[BASE] = cells[BASE]!;
  larger[TOTAL] = cells[TOTAL]!;
  for (let i = 0; i < cells[COUNT]!; i += 1) {
    const from = entryAt(cells, 0, width, i);
    larger.set(cells.subarray(from, from + width), append(larger, 0, width));
  }
  return larger;
}

/** Whether these numbers can be a ring. */
export function isRing(cells: readonly number[], width: number): boolean {
  const [first = -1, count = -1, capacity = 0] = cells;
  const isInside = [first, count].every((value) => Number.isInteger(value) && value >= 0 && value <= capacity);
  return isInside && capacity > 0 && first < capacity && cells.length === ringCells(capacity, width);
}
