/** The other instances: who was heard, when, and up to which message. */
import type { UsageMessage } from './exchange.ts';

interface Peer {
  sequence: number;
  heardMs: number;
}

const mostPeers = 10_000;

export class Peers {
  readonly #peers = new Map<string, Peer>();
  readonly #own: string;
  readonly #aliveMs: number;
  readonly #rememberMs: number;

  /** A peer counts as there for `aliveMs` after it was heard, and its numbers are remembered for `rememberMs`. */
  constructor(own: string, aliveMs: number, rememberMs: number) {
    this.#own = own;
    this.#aliveMs = aliveMs;
    this.#rememberMs = rememberMs;
  }

  /** Whether this is news: from another instance, and not read before. */
  isNews({ instance, sequence }: UsageMessage, nowMs: number): boolean {
    if (instance === this.#own) return false;
    const peer = this.#peers.get(instance) ?? { sequence: 0, heardMs: nowMs };
    // The one heard last goes last, so that the first is the one to forget.
    this.#peers.delete(instance);
    this.#peers.set(instance, peer);
    peer.heardMs = nowMs;
    if (this.#peers.size > mostPeers) this.#peers.delete(this.#peers.keys().next().value as string);
    if (sequence <= peer.sequence) return false;
    peer.sequence = sequence;
    return true;
  }

  /** How many instances there are, this one included. */
  count(nowMs: number): number {
    let count = 1;
    for (const [instance, { heardMs }] of this.#peers) {
      if (nowMs - heardMs < this.#aliveMs) count += 1;
      else if (nowMs - heardMs >= this.#rememberMs) this.#peers.delete(instance);
    }
    return count;
  }
}
