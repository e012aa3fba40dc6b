/** Several instances over one simulated exchange, in simulated time: trips take their time, fail, and fail after they were posted. */
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Store } from '../../stores/store.ts';
import type { Grant } from '../../testing/auditor/grant.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { type ApproximateLayer, approximate } from './approximate.ts';
import type { Exchange } from './exchange.ts';
import { memoryExchange } from './memory-exchange.ts';

/** Lets everything run that waits for nothing but its turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export interface Wire {
  /** The longest way there, and the longest way back. */
  mostDelayMs: number;
  /** The shares of trips that fail before and after the message was posted. */
  failsBefore: number;
  failsAfter: number;
}

/** The exchange as somebody at the end of a wire sees it. */
export function wired(exchange: Exchange, clock: TestClock, wire: Wire, random: () => number): Exchange {
  return {
    async exchange(message, cursor) {
      await clock.sleep(Math.floor(random() * (wire.mostDelayMs + 1)));
      if (random() < wire.failsBefore) throw new Error('lost on the way');
      const reply = await exchange.exchange(message, cursor);
      await clock.sleep(Math.floor(random() * (wire.mostDelayMs + 1)));
      if (random() < wire.failsAfter) throw new Error('lost on the way back');
      return reply;
    },
  };
}

export interface Instance {
  readonly layer: ApproximateLayer;
  readonly store: Store<'sync'>;
  readonly memory: Store<'sync'>;
  readonly uses: Grant[];
}

export function fleet(
  count: number,
  seed: number,
  options: { readonly instances?: number; readonly wire?: Partial<Wire> } = {},
) {
  const clock = new TestClock(1_000_000);
  const random = seededRandom(seed);
  const wire: Wire = { mostDelayMs: 10, failsBefore: 0, failsAfter: 0, ...options.wire };
  const line = memoryExchange({ clock });
  const instances = Array.from({ length: count }, (): Instance => {
    const memory = memoryStore({ clock });
    const layer = approximate({
      exchange: wired(line, clock, wire, random),
      clock,
      ...(options.instances !== undefined && { instances: options.instances }),
    });
    return { layer, memory, store: layer(memory), uses: [] };
  });
  return {
    clock,
    random,
    wire,
    instances,
    /** One call at an instance; whether it may go. */
    call({ store, uses }: Instance, policy: Policy, key = 'key', cost = 1): boolean {
      const [decision] = store.apply([{ name: 'rule', key, policy, cost }]);
      if (decision?.allowed) uses.push({ key, atMs: clock.now(), cost });
      return decision?.allowed ?? false;
    },
    /** A reservation at an instance; what ends it with what was really used, or undefined when it was refused. */
    reserve({ store, uses }: Instance, policy: Policy, cost: number): ((actual: number) => void) | undefined {
      const check = { name: 'rule', key: 'key', policy, cost };
      const [{ allowed, receipt } = { allowed: false }] = store.apply([{ ...check, operation: 'reserve' }]);
      if (!allowed) return undefined;
      const place = uses.push({ key: 'key', atMs: clock.now(), cost }) - 1;
      return (actual) => {
        void store.apply([{ ...check, operation: 'settle', actual, receipt }]);
        uses[place] = { ...uses[place]!, cost: actual };
      };
    },
    async pass(ms: number, stepMs = 5): Promise<void> {
      for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
        clock.advance(stepMs);
        await settled();
      }
    },
  };
}
