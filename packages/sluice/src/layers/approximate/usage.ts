/**
 * What this instance used and has not told yet, and the one message that is under way.
 *
 *      used here ──► unsent ──► message 7 ──► (unknown whether it arrived) ──► message 7 again ──► told
 *                       └ what is used meanwhile waits for message 8
 *
 * Nothing is ever lost or told twice: a message keeps its number and its content until it is known to be posted.
 *
 * What was told cannot be taken back. Others hold it by the time they heard of it; a later use that they were not told of, because
 * it took the place of what was given back, would leave their windows too soon, or never have been in them. So a reservation is
 * told as what was really used only if it is settled before it is told, and in full otherwise.
 */
import type { Receipt } from '../../vocabulary/decision.ts';
import type { UsageMessage } from './exchange.ts';

export class Usage {
  readonly #instance: string;
  readonly #maxKeys: number;
  #unsent = new Map<string, number>();
  /** What reservations among the unsent took, by receipt and key. */
  #reserved = new Map<string, number>();
  #underWay: UsageMessage | undefined;
  #sequence = 0;

  constructor(instance: string, maxKeys: number) {
    this.#instance = instance;
    this.#maxKeys = maxKeys;
  }

  /** Whether a use of the key could be kept. */
  hasRoomFor(id: string): boolean {
    return this.#unsent.size < this.#maxKeys || this.#unsent.has(id);
  }

  /** With a receipt where it may be settled later. */
  add(id: string, cost: number, receipt?: Receipt): void {
    const sum = (this.#unsent.get(id) ?? 0) + cost;
    if (sum > 0) this.#unsent.set(id, sum);
    else this.#unsent.delete(id);
    // While nothing can be told there may be any number of them; what is not remembered is told in full.
    if (receipt && this.#reserved.size < this.#maxKeys) this.#reserved.set(`${receipt} ${id}`, cost);
  }

  /** A reservation of `cost` really took `actual`. */
  settle(id: string, cost: number, actual: number, receipt: Receipt | undefined): void {
    const mark = `${receipt} ${id}`;
    const untold = this.#reserved.get(mark) ?? 0;
    this.#reserved.delete(mark);
    this.add(id, Math.max(actual - cost, -untold));
  }

  /** The message to post: the one under way, or the next. */
  message(): UsageMessage {
    if (this.#underWay) return this.#underWay;
    this.#sequence += 1;
    this.#underWay = { instance: this.#instance, sequence: this.#sequence, used: this.#unsent };
    this.#unsent = new Map();
    this.#reserved.clear();
    return this.#underWay;
  }

  /** The message under way was posted. */
  posted(): void {
    this.#underWay = undefined;
  }

  /** Whether everything used was told. */
  get isTold(): boolean {
    return this.#unsent.size === 0 && !this.#underWay?.used.size;
  }
}
