/**
 * Whether a key may have been changed while a question about it was under way. A refusal may arrive after a reset that the store
 * carried out later: to remember it would be to refuse what the store allows.
 *
 *      question ──────────●────────────► refused      ● when the store did it
 *      order        ────────────●──────►              the refusal is from before, and arrives after
 *
 * Kept in a fixed number of places that keys share: two keys in one place only mean that a refusal is not remembered.
 */
import { codeUnitAt } from '../../vocabulary/code-unit.ts';

const places = 1024;

export class InFlight {
  private questions = 0;
  private turn = 0;
  /** The turn in which a key was changed last. */
  private readonly changes = new Float64Array(places);
  /** How many orders that change a key are under way. */
  private readonly orders = new Uint32Array(places);

  /** A batch is sent; its turn, to be asked about when it is answered. */
  send(): number {
    this.questions += 1;
    return this.turn;
  }

  land(): void {
    this.questions -= 1;
  }

  beginOrder(key: string): void {
    this.orders[placeOf(key)]! += 1;
  }

  endOrder(key: string): void {
    this.orders[placeOf(key)]! -= 1;
  }

  /** Something may have changed the key just now. */
  mark(key: string): void {
    if (this.questions === 0) return;
    this.turn += 1;
    this.changes[placeOf(key)] = this.turn;
  }

  /** Whether something may have changed the key since that turn, or is about to. */
  isInDoubt(key: string, turn: number): boolean {
    const place = placeOf(key);
    return this.orders[place]! > 0 || this.changes[place]! > turn;
  }
}

// The end of a long key tells keys apart as well as all of it.
const mostRead = 64;

function placeOf(key: string): number {
  let hash = 0;
  for (let i = Math.max(0, key.length - mostRead); i < key.length; i += 1)
    hash = (Math.imul(hash, 31) + codeUnitAt(key, i)) | 0;
  return hash & (places - 1);
}
