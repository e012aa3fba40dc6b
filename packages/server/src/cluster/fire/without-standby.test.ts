/** Without standbys: whoever takes over knows nothing, and refuses until nothing that was granted before can matter. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { again, type Fire, startFire, windowMs } from './fire.test-support.ts';

let fire: Fire;
beforeAll(async () => {
  fire = await startFire({ unreplicated: 0 });
});
afterAll(() => fire?.stop());

test('kill -9 of an owner without a standby: its keys are refused for a window', again, async () => {
  const { cluster } = fire;
  const victim = fire.anyNode();
  const keys = await fire.keysOf(victim);
  await fire.during('kill -9 of an owner without a standby', () => victim.kill(), keys);
  fire.mustHold();
  const figures = await Promise.all(cluster.nodes.filter((node) => node !== victim).map((node) => node.figures()));
  expect(figures.reduce((sum, { quarantineRefusals }) => sum + quarantineRefusals, 0)).toBeGreaterThan(0);
  await victim.start();
  await cluster.waitUntilSettled();
});

test('an owner without a standby is alone with its clients until another one has begun to grant', again, async () => {
  const { cluster } = fire;
  const victim = fire.anyNode();
  const keys = await fire.keysOf(victim);
  await fire.during(
    'an owner without a standby is cut off from all but clients',
    async () => {
      victim.cutFromEtcd();
      victim.cutFromNodes();
      // Clients that ask the others get to know who owns the keys now; those that ask this one do not.
      await fire.load.untilEachIsGranted(keys, 1);
      await sleep(windowMs / 2);
      victim.heal();
    },
    keys,
  );
  fire.mustHold();
  await cluster.waitUntilSettled();
});
