/**
 * A borrower in a process of its own, so that it can be stopped, killed and cut off as processes are. Bundled by the test.
 *
 * It borrows, holds on to what it got for a while, and then spends all it can get: the worst that a lease has to survive. Every
 * grant is on disk before the next is asked for, with the moments of question and answer on the clock that all processes of a
 * machine share.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parsePolicy } from '../../algorithms/parse-policy.ts';
import { limiter } from '../../limit/limiter.ts';
import { redisStore } from '../../stores/redis/redis-store.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { leasedStore } from './leased-store.ts';
import type { Lending } from './lending.ts';
import { type LeasedOptions, settingsOf } from './settings.ts';

export interface BorrowerOrders {
  readonly port: number;
  readonly prefix: string;
  readonly policies: readonly { readonly algorithm: string }[];
  readonly keys: readonly string[];
  readonly lease: LeasedOptions;
  /** Where grants are written: one line each, with the policy's place, the key, and when it was asked for and granted. */
  readonly grantsFile: string;
  /** The most calls at once. */
  readonly mostCalls: number;
  /** How long it holds on to what it borrowed, at most. */
  readonly holdMsMost: number;
  /** Takes away what ends a loan here, to see that the auditor notices. */
  readonly isEndless: boolean;
  /** Of how long it holds, and how much it calls. */
  readonly seed: number;
}

/** Sent when it has ended as it was told to. */
export interface BorrowerReport {
  readonly decidedHere: number;
  readonly borrows: number;
  readonly returned: number;
  readonly errors: Readonly<Record<string, number>>;
}

const orders = JSON.parse(process.argv[2] ?? '') as BorrowerOrders;
const client = new Redis(orders.port, '127.0.0.1', { autoResendUnfulfilledCommands: false, retryStrategy: () => 20 });
// What is lost with a connection is told to whoever called.
client.on('error', () => undefined);
const random = seededRandom(orders.seed);
const settings = settingsOf(orders.lease);
const store = leasedStore(
  redisStore({ client, prefix: orders.prefix }),
  orders.isEndless ? { ...settings, marginMs: -1e9, leaseMs: 1e9, lendingOf: endless } : settings,
);
const file = openSync(orders.grantsFile, 'a');
const errors: Record<string, number> = {};
let isOver = false;

function endless(policy: Policy): Lending | undefined {
  const lending = settings.lendingOf(policy, settings.leaseMs);
  return lending && { ...lending, keepsMs: () => Number.POSITIVE_INFINITY };
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * It looks at the time more often than the layer looks for loans that are over: whoever was stopped spends what it held before
 * anything else happens, if it is let.
 */
async function hold(ms: number): Promise<void> {
  const untilMs = nowMs() + ms;
  while (nowMs() < untilMs) await sleep(3);
}

async function hoard(place: number, policy: Policy, key: string): Promise<void> {
  const limits = limiter(policy, { store, name: `rule-${place}` });

  async function ask(): Promise<void> {
    const sentMs = nowMs();
    try {
      const { allowed } = await limits.check(key);
      if (allowed) writeSync(file, `${place} ${key} ${sentMs} ${nowMs()}\n`);
    } catch (error) {
      const code = String((error as { code?: unknown }).code);
      errors[code] = (errors[code] ?? 0) + 1;
    }
  }

  while (!isOver) {
    await ask();
    await hold(random() * orders.holdMsMost);
    await Promise.all(Array.from({ length: 1 + Math.floor(random() * orders.mostCalls) }, ask));
  }
}

async function live(): Promise<void> {
  const lives = orders.policies.flatMap((data, place) => {
    const policy = parsePolicy(data);
    return orders.keys.map((key) => hoard(place, policy, key));
  });
  await Promise.all(lives);
  await store.close();
  const { decidedHere, borrows, returned } = store.stats();
  const report: BorrowerReport = { decidedHere, borrows, returned, errors };
  process.send?.(report, () => process.exit(0));
}

process.on('message', () => {
  isOver = true;
});
void live();
