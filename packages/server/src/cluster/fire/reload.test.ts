/** The configuration changes while calls come in: what was granted before still counts, by the new rule. */
import { type SluiceCluster, startSluiceCluster, waitUntil } from '@sluice/test-servers';
import { expect, onTestFinished, test } from 'vitest';
import { type CallersOptions, ioredisCaller, nodeRedisCaller } from './callers.test-support.ts';
import { graceMs, policy, rule, ttlMs } from './fire.test-support.ts';
import type { RecordedCall } from './history.test-support.ts';
import { startLoad } from './load.test-support.ts';

interface Step {
  readonly limit: number;
  readonly windowMs: number;
}

const configOf = ({ limit, windowMs }: Step) => `rules:
  - { name: ${rule}, key: user, algorithm: sliding-log, limit: ${limit}, window: ${windowMs}ms }
`;

/** The most grants in any window that ends with one that was asked for since then. */
function mostInWindow(calls: readonly RecordedCall[], windowMs: number, sinceMs: number): number {
  const granted = calls.filter(({ outcome }) => outcome === 'granted');
  return granted
    .filter(({ sentMs }) => sentMs >= sinceMs)
    .reduce((most, { key, receivedMs }) => {
      const inWindow = granted.filter(
        (other) => other.key === key && other.receivedMs <= receivedMs && other.receivedMs > receivedMs - windowMs,
      );
      return Math.max(most, inWindow.length);
    }, 0);
}

async function isInForce({ nodes }: SluiceCluster, { limit, windowMs }: Step): Promise<boolean> {
  const rules = await Promise.all(nodes.map(async ({ url }) => (await fetch(`${url}/v1/rules`)).text()));
  return rules.every((text) => text.includes(`"limit":${limit}`) && text.includes(`"window":"${windowMs}ms"`));
}

test('a lower limit holds at once, and a longer window for what was granted before', async () => {
  const first: Step = { limit: 20, windowMs: 2000 };
  const steps: Step[] = [
    { limit: 10, windowMs: 2000 }, // lower
    { limit: 10, windowMs: 4000 }, // longer: the past that it looks at is longer than was looked at before
  ];
  const cluster = await startSluiceCluster({ config: configOf(first), ttlMs, graceMs });
  const keys = Array.from({ length: 30 }, (_, i) => `user-${i}`);
  const options: CallersOptions = { seeds: cluster.seeds, rule, policy, graceMs };
  const callers = [ioredisCaller(options), await nodeRedisCaller(options)];
  const load = startLoad({ callers, keys, graceMs, everyMs: () => 100 });
  onTestFinished(async () => {
    await load.stop();
    await cluster.stop();
  });
  await load.untilEachIsGranted(keys, first.limit);
  for (const step of steps) {
    cluster.configure(configOf(step));
    await waitUntil('every node has read it', () => isInForce(cluster, step));
    const sinceMs = performance.now();
    await load.untilEachIsGranted(keys, step.limit);
    const most = mostInWindow(load.calls, step.windowMs, sinceMs);
    expect(most).toBeLessThanOrEqual(step.limit);
    // Used up, so that more would have been seen.
    expect(most).toBeGreaterThan(step.limit / 2);
  }
});
