/** State that other nodes offered: kept until the slot table says that an offer was taken, or for so long that it never will. */
import type { NodeClock } from './environment.ts';
import type { Fences } from './fences.ts';
import type { ShardState } from './messages.ts';
import { Shard } from './shard.ts';

interface Offer {
  readonly receivedMs: number;
  /** The difference of the giver's time to ours when it came; the giver's was later by then. */
  readonly shards: Map<number, { readonly state: ShardState; readonly asideMs: number }>;
}

const mostOffers = 256;

export class Offers {
  private readonly offers = new Map<string, Offer>();
  private readonly clock: NodeClock;
  private readonly fences: Fences;
  private readonly keptMs: number;

  constructor(clock: NodeClock, fences: Fences, keptMs: number) {
    this.clock = clock;
    this.fences = fences;
    this.keptMs = keptMs;
  }

  /** Says whether it is kept. */
  receive(token: string, states: readonly ShardState[]): boolean {
    const nowMs = this.clock.nowMs();
    for (const [old, { receivedMs }] of this.offers) if (nowMs - receivedMs > this.keptMs) this.offers.delete(old);
    if (this.offers.size >= mostOffers) return false;
    const asideMs = (state: ShardState) => (this.fences.agesNotDates ? state.nowMs - nowMs : 0);
    const shards = new Map(states.map((state) => [state.shard, { state, asideMs: asideMs(state) }]));
    this.offers.set(token, { receivedMs: nowMs, shards });
    return true;
  }

  /** The shard as the offer that the table names has it. */
  take(token: string | undefined, shard: number, maxKeys: number): Shard | undefined {
    const offer = this.find(token);
    const offered = offer?.shards.get(shard);
    offer?.shards.delete(shard);
    if (token !== undefined && offer?.shards.size === 0) this.offers.delete(token);
    return offered && Shard.of(offered.state, this.clock, maxKeys, offered.asideMs);
  }

  private find(token: string | undefined): Offer | undefined {
    if (token !== undefined) return this.offers.get(token);
    return this.fences.offerNamedByTable ? undefined : [...this.offers.values()].at(-1);
  }
}
