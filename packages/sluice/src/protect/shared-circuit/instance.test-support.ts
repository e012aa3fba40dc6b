/**
 * An instance in a process of its own, with a circuit over Redis before a real upstream. Bundled by the test. It makes one call
 * after another, says all the time how it stands, and is told where the upstream is, or to leave.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisStore } from '../../stores/redis/redis-store.ts';
import { circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import { type SharedCircuitView, sharedCircuit } from './shared-circuit.ts';

export interface InstanceOrders {
  readonly redisPort: number;
  readonly prefix: string;
  /** Said to the upstream with every call. */
  readonly instance: string;
  readonly upstreamPort: number;
}

export type InstanceOrder = { readonly upstreamPort: number } | 'leave';

export interface InstanceReport {
  /** Every change of state so far: `'closed > open: consecutive-failures'`. */
  readonly changes: readonly string[];
  /** Calls that were made, and those of them that failed. */
  readonly made: number;
  readonly failed: number;
  readonly syncErrors: readonly string[];
  readonly view: SharedCircuitView;
  readonly hasLeft: boolean;
}

const orders = JSON.parse(process.argv[2] ?? '') as InstanceOrders;
const client = new Redis(orders.redisPort, '127.0.0.1', { autoResendUnfulfilledCommands: false });
const circuit = sharedCircuit(circuitBreaker({ consecutiveFailures: 3, openFor: '400ms' }), {
  store: redisStore({ client, prefix: orders.prefix }),
  name: 'upstream',
  instance: orders.instance,
  every: '100ms',
});

const changes: string[] = [];
const syncErrors: string[] = [];
let { upstreamPort } = orders;
let made = 0;
let failed = 0;
let hasLeft = false;
circuit.on('change', ({ from, to, reason }) => changes.push(`${from} > ${to}: ${reason}`));
circuit.on('sync-failed', ({ error }) => syncErrors.push(String(error)));

async function callUpstream(): Promise<void> {
  made += 1;
  try {
    const response = await fetch(`http://127.0.0.1:${upstreamPort}/`, { headers: { instance: orders.instance } });
    await response.text();
    if (!response.ok) throw new Error(`The upstream answered ${response.status}.`);
  } catch (error) {
    failed += 1;
    throw error;
  }
}

function report(): void {
  const news: InstanceReport = { changes, made, failed, syncErrors, view: circuit.view(), hasLeft };
  process.send?.(news);
}

process.on('message', async (order: InstanceOrder) => {
  if (order !== 'leave') {
    upstreamPort = order.upstreamPort;
    return;
  }
  await circuit.leave();
  hasLeft = true;
  report();
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit());

while (!hasLeft) {
  // A call that fails, or is not made, is what this is about.
  await circuit.run(callUpstream).catch(() => undefined);
  report();
  await sleep(10);
}
