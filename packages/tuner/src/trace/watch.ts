/**
 * Counts the calls of clients that are not kept, so that one which begins to call much is noticed: a count-min sketch.
 *
 *      row 0    │ 3 │ 0 │ 9 │ 1 │       a client has one cell in each row; the least of its cells is
 *      row 1    │ 0 │ 3 │ 1 │ 9 │       at least what it called, and more only if it shares all of them
 *
 * Only the least cells are raised (Estan and Varghese's conservative update), which keeps what many small ones add up to low.
 */
import { mixed } from './client-table.ts';

const rows = 4;
const width = 2 ** 18;

export class Watch {
  readonly #cells = new Uint32Array(rows * width);
  readonly #places = new Uint32Array(rows);

  /** Adds one call of the client with this hash; says how many it has made, or more. */
  add(hash: number): number {
    const calls = this.#find(hash) + 1;
    this.#raise(calls);
    return calls;
  }

  /** The client with this hash has made so many calls. */
  learn(hash: number, calls: number): void {
    this.#find(hash);
    this.#raise(calls);
  }

  #find(hash: number): number {
    let least = 0xffffffff;
    for (let row = 0; row < rows; row += 1) {
      const place = row * width + (mixed(hash + Math.imul(row + 1, 0x9e3779b9)) & (width - 1));
      this.#places[row] = place;
      least = Math.min(least, this.#cells[place]!);
    }
    return least;
  }

  #raise(calls: number): void {
    for (const place of this.#places) if (this.#cells[place]! < calls) this.#cells[place] = calls;
  }
}
