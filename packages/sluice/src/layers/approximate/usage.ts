/**
 * What this instance used and has not told yet, and the one message that is under way.
 *
 *      used here ──► unsent ──► message 7 ──► (unknown whether it arrived) ──► message 7 again ──► told
 *                       └ what is used meanwhile waits for message 8
 *
 * Nothing is ever lost or told twice: a message keeps its number and its content until it is known to be posted.
 */
import type { UsageMessage } from './exchange.ts';

export class Usage {
  readonly #instance: string;
  readonly #maxKeys: number;
  #unsent = new Map<string, number>();
  #underWay: UsageMessage | undefined;
  #sequence = 0;

  constructor(instance: string, maxKeys: number) {
    this.#instance = instance;
    this.#maxKeys = maxKeys;
  }

  /** Whether a use of the key could be kept. */
  hasRoomFor(id: string): boolean {
    if (this.#unsent.size < this.#maxKeys || this.#unsent.has(id)) return true;
    // What was given back may be forgotten: others then count more than was used, never less.
    for (const [credited, cost] of this.#unsent) if (cost < 0) this.#unsent.delete(credited);
    return this.#unsent.size < this.#maxKeys;
  }

  /** Less than 0 where something was given back: others have counted it already, so later uses are told that much less. */
  add(id: string, cost: number): void {
    if (cost === 0) return;
    const sum = (this.#unsent.get(id) ?? 0) + cost;
    if (sum === 0) this.#unsent.delete(id);
    else this.#unsent.set(id, sum);
  }

  /** The message to post: the one under way, or the next. */
  message(): UsageMessage {
    if (this.#underWay) return this.#underWay;
    const used = new Map<string, number>();
    const kept = new Map<string, number>();
    for (const [id, cost] of this.#unsent) (cost > 0 ? used : kept).set(id, cost);
    this.#unsent = kept;
    this.#sequence += 1;
    this.#underWay = { instance: this.#instance, sequence: this.#sequence, used };
    return this.#underWay;
  }

  /** The message under way was posted. */
  posted(): void {
    this.#underWay = undefined;
  }

  /** Whether everything used was told. */
  get isTold(): boolean {
    if (this.#underWay && this.#underWay.used.size > 0) return false;
    for (const cost of this.#unsent.values()) if (cost > 0) return false;
    return true;
  }
}
