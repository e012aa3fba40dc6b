// A store whose answers arrive when the test says so, in any order, or never. What it answers is what a memory store does.
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { Check, Store } from '../stores/store.ts';
import type { Clock } from '../vocabulary/clock.ts';
import type { Decision } from '../vocabulary/decision.ts';

export interface Trip {
  readonly checks: readonly Check[];
  readonly atMs: number | undefined;
  readonly requestId: string | undefined;
  /** The store carries the batch out; the answer is under way. */
  decide(): void;
  /** The answer arrives; carried out before, or now. */
  arrive(): void;
  fail(error: unknown): void;
}

/** The memory store behind promises that resolve at once. */
export function remoteStore(clock: Clock): Store<'async'> & { readonly trips: () => number } {
  const store = memoryStore({ clock });
  let trips = 0;
  return {
    mode: 'async',
    clock,
    trips: () => trips,
    async apply(checks, atMs) {
      trips += 1;
      return store.apply(checks, atMs);
    },
  };
}

export interface LateStore extends Store<'async'> {
  readonly trips: Trip[];
  /** What it would say now. */
  peek(check: Check): Decision;
}

export function lateStore(clock: Clock): LateStore {
  const store = memoryStore({ clock });
  const trips: Trip[] = [];
  function apply(checks: readonly Check[], atMs?: number, requestId?: string): Promise<Decision[]> {
    return new Promise((resolve, reject) => {
      let decisions: Decision[] | undefined;
      trips.push({
        checks,
        atMs,
        requestId,
        decide() {
          decisions ??= store.apply(checks, atMs);
        },
        arrive() {
          this.decide();
          resolve(decisions!);
        },
        fail: reject,
      });
    });
  }
  const peek = (check: Check) => store.apply([{ ...check, operation: 'peek' }])[0]!;
  return { mode: 'async', clock, apply, trips, peek };
}
