/** How many calls of one limit are under way at once: until they are given back, or their lease ends. */
import type { Call } from '../calls.ts';
import type { Limit } from '../scenario.ts';
import type { World } from '../world.ts';

export class InFlight {
  most = 0;
  private readonly byKey = new Map<string, number>();
  private readonly world: World;
  private readonly limit: number;
  private readonly leaseMs: number;
  private readonly isShared: boolean;

  constructor(world: World, { policy, per }: Limit) {
    this.world = world;
    this.limit = policy.limit;
    this.leaseMs = (policy as { readonly lease?: number }).lease ?? Number.POSITIVE_INFINITY;
    this.isShared = per === 'all';
  }

  get mostRatio(): number {
    return this.most / this.limit;
  }

  /** Returns how to say that the call is over. */
  begin({ atMs, key, cost }: Call): () => void {
    const who = this.isShared ? '' : key;
    const held = (this.byKey.get(who) ?? 0) + cost;
    this.byKey.set(who, held);
    this.most = Math.max(this.most, held);
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.byKey.set(who, this.byKey.get(who)! - cost);
    };
    this.world.at(atMs + this.leaseMs, end);
    return end;
  }
}
