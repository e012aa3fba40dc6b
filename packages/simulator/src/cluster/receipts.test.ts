/** What was reserved and leased, when its shard goes to another node: as planned it goes on, else it means nothing to who comes after. */
import { type Check, concurrency, type Decision, gcra } from 'sluice';
import { slotOf } from 'sluice/client';
import { expect, it } from 'vitest';
import type { SimulatedNode } from './simulated-node.ts';
import { Stage, ttlMs } from './stage.test-support.ts';

async function carriedOut(stage: Stage, at: SimulatedNode, check: Partial<Check>): Promise<Decision> {
  const whole = { name: 'rule', key: stage.key, cost: 1, ...check } as Check;
  return (await stage.carriedOut(at, [whole]))[0]!;
}

const owns = ({ node }: SimulatedNode, key: string) => node?.route(slotOf(key)) === 'here';

async function handedOver(policyWindowMs: number): Promise<{ stage: Stage; handOver: () => Promise<void> }> {
  const stage = await Stage.settled({ isForC: true });
  await stage.run(policyWindowMs + 1000);
  const handOver = async () => {
    void stage.c.start();
    await stage.runUntil(() => owns(stage.c, stage.key));
  };
  return { stage, handOver };
}

it('leases go on at who takes the shard over as planned', async () => {
  const { stage, handOver } = await handedOver(10_000);
  const policy = concurrency({ limit: 2, lease: '10s' });
  const first = await carriedOut(stage, stage.a, { policy, operation: 'acquire' });
  const second = await carriedOut(stage, stage.a, { policy, operation: 'acquire' });
  await handOver();
  const on = (operation: 'renew' | 'release', { receipt }: Decision) =>
    carriedOut(stage, stage.c, { policy, operation, ...(receipt && { receipt }) });
  expect((await on('renew', first)).allowed).toBe(true);
  expect((await on('release', second)).allowed).toBe(true);
  expect((await carriedOut(stage, stage.c, { policy, operation: 'acquire' })).allowed).toBe(true);
  expect((await carriedOut(stage, stage.c, { policy, operation: 'acquire' })).allowed).toBe(false);
});

it('what was void stays void at who takes the shard over as planned', async () => {
  const { stage, handOver } = await handedOver(10_000);
  const policy = gcra({ limit: 10, window: '10s' });
  const { receipt } = await carriedOut(stage, stage.a, { policy, operation: 'reserve', cost: 8 });
  await carriedOut(stage, stage.a, { policy, operation: 'reset', cost: 0 });
  await handOver();
  expect((await carriedOut(stage, stage.c, { policy, operation: 'reserve', cost: 9 })).allowed).toBe(true);
  await carriedOut(stage, stage.c, { policy, operation: 'settle', cost: 8, actual: 0, receipt: receipt! });
  expect((await carriedOut(stage, stage.c, { policy, cost: 3 })).allowed).toBe(false);
});

it('what a dead owner gave out means nothing to the next, whatever their clocks show', async () => {
  const stage = await Stage.settled({ clocks: { a: { originMs: 1e6 }, b: { originMs: 0 } } });
  const policy = gcra({ limit: 10, window: '2s' });
  await stage.run(12_000);
  const { receipt } = await carriedOut(stage, stage.a, { policy, operation: 'reserve', cost: 9 });
  stage.a.crash();
  await stage.runUntil(() => owns(stage.b, stage.key));
  await stage.run(2000 + ttlMs);
  expect((await carriedOut(stage, stage.b, { policy, operation: 'reserve', cost: 8 })).allowed).toBe(true);
  await carriedOut(stage, stage.b, { policy, operation: 'settle', cost: 9, actual: 0, receipt: receipt! });
  expect((await carriedOut(stage, stage.b, { policy, cost: 8 })).allowed).toBe(false);
});

it('a copy takes nothing for valid that its owner does not', async () => {
  const stage = await Stage.settled({ shared: { unreplicated: 10 } });
  const policy = gcra({ limit: 100, window: '8s' });
  await stage.run(9000);
  const { receipt } = await carriedOut(stage, stage.a, { policy, operation: 'reserve', cost: 80 });
  await carriedOut(stage, stage.a, { policy, operation: 'reset', cost: 0 });
  // Whoever copies from now on begins with a snapshot.
  stage.b.crash();
  await stage.run(2 * ttlMs);
  void stage.b.start();
  await stage.run(3000);
  expect((await carriedOut(stage, stage.a, { policy, operation: 'reserve', cost: 90 })).allowed).toBe(true);
  await carriedOut(stage, stage.a, { policy, operation: 'settle', cost: 80, actual: 0, receipt: receipt! });
  await stage.run(100);
  stage.a.crash();
  await stage.runUntil(() => owns(stage.b, stage.key));
  let granted = 0;
  for (let i = 0; i < 100; i += 1) if ((await carriedOut(stage, stage.b, { policy })).allowed) granted += 1;
  // What has drained meanwhile.
  expect(granted).toBeLessThanOrEqual(10 + (100 / 8000) * 2000);
});

/** Node b has taken over, and has not heard of the last thing that a gave out. */
async function takenOverWithout(stage: Stage, lost: Partial<Check> & Pick<Check, 'policy'>): Promise<Decision> {
  const answer = stage.a.node!.apply([{ name: 'rule', key: stage.key, cost: 1, ...lost }]);
  expect(answer).not.toBeInstanceOf(Promise);
  stage.a.crash();
  await stage.runUntil(() => owns(stage.b, stage.key));
  return (answer as Decision[])[0]!;
}

it('a lease that was lost with its owner is not taken for one that its standby has given out', async () => {
  const stage = await Stage.settled({ shared: { unreplicated: 10 } });
  const policy = concurrency({ limit: 20, lease: '5s' });
  await stage.run(11_000);
  const on = (operation: 'acquire' | 'renew' | 'release', receipt?: Decision['receipt']) =>
    carriedOut(stage, stage.b, { policy, operation, receipt });
  const known = await carriedOut(stage, stage.a, { policy, operation: 'acquire' });
  await stage.run(100);
  const lost = await takenOverWithout(stage, { policy, operation: 'acquire' });
  const { receipt } = await on('acquire');
  expect((await on('release', lost.receipt)).allowed).toBe(false);
  expect((await on('renew', lost.receipt)).allowed).toBe(false);
  const renewed = await on('renew', receipt);
  expect(renewed.allowed).toBe(true);
  expect((await on('release', renewed.receipt)).allowed).toBe(true);
  // What the standby has heard of goes on.
  expect((await on('renew', known.receipt)).allowed).toBe(true);
});

it('a reservation that was lost with its owner gives nothing back at its standby', async () => {
  const stage = await Stage.settled({ shared: { unreplicated: 10 } });
  const policy = gcra({ limit: 20, window: '10s', burst: 20 });
  await stage.run(21_000);
  await carriedOut(stage, stage.a, { policy, operation: 'reserve' });
  await stage.run(100);
  const { receipt } = await takenOverWithout(stage, { policy, operation: 'reserve', cost: 2 });
  for (let i = 0; i < 3; i += 1) await carriedOut(stage, stage.b, { policy, operation: 'reserve', cost: 2 });
  const look = async () => (await carriedOut(stage, stage.b, { policy, operation: 'peek', cost: 0 })).remaining;
  const before = await look();
  await carriedOut(stage, stage.b, { policy, operation: 'settle', cost: 2, actual: 0, receipt });
  expect(await look()).toBe(before);
});
