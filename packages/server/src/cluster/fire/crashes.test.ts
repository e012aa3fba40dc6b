/** Processes that end or stand still, with a standby for every key. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { again, type Fire, rounds, startFire, ttlMs } from './fire.test-support.ts';

const patienceMs = 600;

let fire: Fire;
beforeAll(async () => {
  fire = await startFire({ patienceMs });
});
afterAll(() => fire?.stop());

test('without a fault the cluster grants what it should, and no more', async () => {
  const { grants } = await fire.during('none', async () => {});
  expect(grants).toBeGreaterThan(0);
  fire.mustHold();
});

test('kill -9 of an owner: its standbys go on', again, async () => {
  const { cluster } = fire;
  const victim = fire.anyNode();
  const keys = await fire.keysOf(victim);
  await fire.during('kill -9 of an owner', () => victim.kill(), keys);
  fire.mustHold();
  await victim.start();
  await cluster.waitUntilSettled();
});

test('kill -9 of an owner that did not reach its standbys: they count what they may have missed', again, async () => {
  const { cluster } = fire;
  const victim = fire.anyNode();
  const keys = await fire.keysOf(victim);
  await fire.during(
    'kill -9 of an owner that did not reach its standbys',
    async () => {
      victim.cutFromNodes();
      // Not for so long that it would do without them.
      await sleep(patienceMs / 2);
      await victim.kill();
    },
    keys,
  );
  fire.mustHold();
  // Only now: what was on its way would have arrived.
  victim.heal();
  await victim.start();
  await cluster.waitUntilSettled();
});

test(
  'SIGSTOP of an owner past its TTL: it wakes with questions in its sockets, and grants none of them',
  again,
  async () => {
    const { cluster } = fire;
    const victim = fire.anyNode();
    const keys = await fire.keysOf(victim);
    await fire.during(
      'SIGSTOP of an owner past its TTL, then SIGCONT',
      async () => {
        await victim.pause();
        await sleep(2 * ttlMs);
        victim.resume();
      },
      keys,
    );
    fire.mustHold();
    await cluster.waitUntilSettled();
  },
);

test('kill -9 of one node after the other, at once started again', async () => {
  await fire.during('kill -9 again and again', async () => {
    for (let i = 0; i < 3 * rounds; i += 1) {
      const victim = fire.anyNode();
      await victim.kill();
      await victim.start();
      await sleep(Math.random() * ttlMs);
    }
  });
  fire.mustHold();
});
