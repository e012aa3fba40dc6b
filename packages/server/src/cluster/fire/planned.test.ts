/** What operators do on purpose: state moves, nobody gets a fresh budget, and whoever can wait a moment is not refused. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ioredisCaller } from './callers.test-support.ts';
import { again, type Fire, policy, report, rule, startFire } from './fire.test-support.ts';
import { judge } from './history.test-support.ts';
import { type Load, startLoad } from './load.test-support.ts';

// As long as it takes: keys that are on their way to another node are answered by whoever has them in the end.
const patientMs = 5000;
const patientKeys = Array.from({ length: 30 }, (_, i) => `patient-${i}`);

let fire: Fire;
let patient: Load;
beforeAll(async () => {
  // Long: no right may end, and no call may give up, because the machine is busy.
  fire = await startFire({ ttlMs: 3000, patienceMs: patientMs });
  const caller = ioredisCaller({ seeds: fire.cluster.seeds, rule, policy, graceMs: patientMs });
  patient = startLoad({ callers: [caller], keys: patientKeys, graceMs: patientMs, everyMs: () => 500 });
  await patient.untilEachIsGranted(patientKeys, 1);
});
afterAll(async () => {
  await patient?.stop();
  await fire?.stop();
});

/** Changes the cluster: grants stay within their limits, state moves, and nobody who waits is refused. */
async function planned(name: string, change: () => Promise<void>): Promise<void> {
  const fromMs = performance.now();
  await fire.during(name, async () => {
    await change();
    await fire.cluster.waitUntilSettled();
  });
  report(
    `${name}, for callers that wait`,
    judge(patient.calls, { policy, graceMs: 0, fromMs, toMs: performance.now(), keys: patientKeys }),
  );
  fire.mustHold();
  const running = fire.cluster.nodes.filter(({ state }) => state === 'running');
  const figures = await Promise.all(running.map((node) => node.figures()));
  // The first node founded the cluster; since then nobody began with nothing.
  for (const { takenOver } of figures) expect([0, 256]).toContain(takenOver);
  const refused = patient.calls.filter(({ outcome, sentMs }) => outcome === 'refused' && sentMs >= fromMs);
  expect(refused).toEqual([]);
}

test('a node joins, and a node leaves', again, async () => {
  const { cluster } = fire;
  await planned('a node joins', async () => {
    await cluster.add();
  });
  await planned('a node leaves', () => cluster.nodes.at(-1)!.leave());
});

test('every node is stopped and started again, one after the other', again, async () => {
  const { cluster } = fire;
  const nodes = cluster.nodes.filter(({ state }) => state === 'running');
  await planned('rolling restart of all nodes', async () => {
    for (const node of nodes) {
      await node.leave();
      await node.start();
      await cluster.waitUntilSettled();
    }
  });
});
