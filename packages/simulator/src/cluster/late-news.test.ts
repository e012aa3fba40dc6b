/** News that a node has not heard when it matters: schedules that were found to be too much once. */
import { tokenBucket } from 'sluice';
import { slotOf } from 'sluice/client';
import { expect, test } from 'vitest';
import { etcdHost } from './etcd-model.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { limit, quarantineMs, Stage, takeOverMs, windowMs } from './stage.test-support.ts';

test('a shard that was handed over and has come back is not the one that was given away', async () => {
  const stage = await Stage.settled({ isForC: true });
  const { a, c, key } = stage;
  // Node a gives the key to c, and does not hear from etcd that it did; c grants, leaves, and gives it back.
  let isDeaf = false;
  stage.mail(({ from, to, what }) => {
    if (from === 'a' && what === 'offer') isDeaf = true;
    return isDeaf && from === etcdHost && to === 'a' ? 'lost' : undefined;
  });
  void c.start();
  await stage.runUntil(() => stage.keysOf(c).includes(key));
  await stage.spend(c);
  void c.leave(300);
  await stage.run(60);
  isDeaf = false;
  await stage.run(60);
  await stage.press(a, 100);
  expect(stage.objections).toEqual([]);
  expect(stage.used).toBe(limit);
});

test('a node that hears of its shards before it hears that it has joined has them in the end', async () => {
  const stage = await Stage.settled({ isForC: true });
  const { b, c, key } = stage;
  let answers = 0;
  stage.mail(({ from, to }) => {
    if (from !== etcdHost || to !== 'c') return undefined;
    answers += 1;
    return answers === 1 ? 90 : undefined;
  });
  void c.start();
  await stage.run(300);
  expect(stage.keysOf(c)).toContain(key);
  await stage.spend(b, { door: 'http' });
  expect(stage.used).toBe(limit);
});

/** Node c starts, and has just taken the offer of a, of nobody else. From then on what one of them says to etcd takes so long. */
async function offered(stage: Stage, slow: 'a' | 'c', etcdMs: number): Promise<void> {
  let isOffered = false;
  stage.mail(({ from, to, what }) => {
    if (from === 'c' && to === 'a' && what === '?offer') isOffered = true;
    if (from === 'b' && what === 'offer') return 'lost';
    return isOffered && from === slow && what === 'etcd' ? etcdMs : undefined;
  });
  void stage.c.start();
  await stage.runUntil(() => isOffered);
}

test('a node that leaves is given nothing in its last moment', async () => {
  const stage = await Stage.settled({ isForC: true });
  const { a, c, key } = stage;
  // The offer of a has arrived, and c leaves before etcd hears that it was taken.
  await offered(stage, 'a', 20);
  void c.leave(100);
  await stage.run(100);
  await stage.spend(a);
  expect(stage.keysOf(a)).toContain(key);
  expect(stage.used).toBe(limit);
});

test('a node that leaves before it has anything has nothing in the end, though it was given something meanwhile', async () => {
  const stage = await Stage.settled({ isForC: true });
  const { a, c, key } = stage;
  // Etcd hears that the offer of a was taken, and right after that, that c is gone.
  await offered(stage, 'c', 2);
  expect(stage.keysOf(c)).toEqual([]);
  void c.leave(300);
  await stage.run(100);
  expect(c.node).toBeUndefined();
  await stage.spend(a);
  expect(stage.keysOf(a)).toContain(key);
  expect(stage.used).toBe(limit);
});

test('who asks a node that leaves is answered by the next owner, though that one hears of it last', async () => {
  const stage = await Stage.settled({});
  const { a, b, key } = stage;
  await stage.run(3 * windowMs);
  let isOffered = false;
  stage.mail(({ from, to, what }) => {
    if (from === 'b' && to === 'a' && what === '?offer') isOffered = true;
    return isOffered && from === 'a' && what === 'table' ? 15 : undefined;
  });
  const leaving = a.node!;
  void leaving.leave(500);
  await stage.runUntil(() => isOffered);
  const [decision] = await stage.carriedOut(a, [stage.checkOf(key)]);
  expect(decision!.allowed).toBe(true);
  expect(leaving.stats().ownedShards).toBe(0);
  expect(stage.keysOf(b)).toContain(key);
});

/** It knows that it has no record any more. */
function isGone({ node }: SimulatedNode): boolean {
  return !node!.view().members.some(({ isSelf }) => isSelf);
}

/** A key that b gives to c when it leaves, right after a has left: a does not hear of it. */
async function givenUnheard(stage: Stage, leaveA: () => void): Promise<string> {
  const { a, b, c } = stage;
  void c.start();
  await stage.run(3 * windowMs);
  const key = stage.keysOf(b)[0]!;
  leaveA();
  await stage.runUntil(() => isGone(a));
  void b.node!.leave(500);
  await stage.runUntil(() => stage.keysOf(c).includes(key));
  expect(a.node!.route(slotOf(key))).toMatchObject({ addresses: { resp: b.address } });
  return key;
}

test('who asks a node that has left is answered by the next owner, though the owner that it knew has left right after it', async () => {
  const stage = await Stage.settled({});
  const { a } = stage;
  const key = await givenUnheard(stage, () => void a.node!.leave(500));
  const [decision] = await stage.carriedOut(a, [stage.checkOf(key)]);
  expect(decision!.allowed).toBe(true);
});

test('a node that was taken out while it left does not ask itself, though a member of etcd that lags says that it is there', async () => {
  const stage = await Stage.settled({});
  const { a, key: own } = stage;
  const { etcd } = stage.world;
  let before = 0;
  const key = await givenUnheard(stage, () => {
    before = etcd.state.revision;
    const { id } = a.node!.stats();
    etcd.state.commit({ compare: [], change: [{ delete: `/sluice/staged/nodes/${id}` }], read: [] });
    void a.node!.leave(500);
  });
  etcd.lagging.set('a', before);
  const unavailable = { code: 'store-unavailable' };
  await expect(stage.carriedOut(a, [stage.checkOf(key)])).rejects.toMatchObject(unavailable);
  await expect(stage.carriedOut(a, [stage.checkOf(own)])).rejects.toMatchObject(unavailable);
});

test('an owner that has lost etcd alone sends others to its successor', async () => {
  const stage = await Stage.settled({ shared: { unreplicated: 10 } });
  const { a, b, key } = stage;
  stage.mail(({ from, to }) => ([from, to].includes('a') && [from, to].includes(etcdHost) ? 'lost' : undefined));
  await stage.runUntil(() => stage.keysOf(b).includes(key));
  await stage.run(5);
  expect(a.node?.route(slotOf(key))).toMatchObject({ addresses: { resp: b.address } });
  await stage.run(quarantineMs);
  await stage.spend(a, { door: 'http' });
  expect(stage.used).toBe(limit);
});

test('a bucket of which nothing is known but that it was used is empty, however little of it was used last', async () => {
  const policy = tokenBucket({ limit: 9, window: windowMs, burst: 9 });
  const stage = await Stage.settled({ policy, shared: { durableFromMs: windowMs } });
  // All that there is, again and again: the last window shows only what was filled in meanwhile.
  await stage.press(stage.a, 2 * windowMs);
  const before = stage.used;
  stage.a.crash();
  stage.b.crash();
  void stage.a.start();
  void stage.b.start();
  await stage.run(takeOverMs);
  await stage.press(stage.b, windowMs, { door: 'http' });
  expect(stage.objections).toEqual([]);
  // It is filled again, though only from when nothing of it can have been used any more, by anybody's time.
  expect(stage.used - before).toBeGreaterThan(4);
});
