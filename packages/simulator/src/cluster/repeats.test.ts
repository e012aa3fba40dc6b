/** Requests that are sent again under their ids when the owner is another one: whatever way the shard went, what is never refused is done once. */
import { type Check, type Decision, slidingSlots } from 'sluice';
import { slotOf } from 'sluice/client';
import { describe, expect, test } from 'vitest';
import type { SimulatedNode } from './simulated-node.ts';
import { Stage, ttlMs } from './stage.test-support.ts';

const windowMs = 6000;
const policy = slidingSlots({ limit: 20, window: windowMs });
const operations = ['settle', 'reward', 'reset'] as const;

type Operation = (typeof operations)[number];

const owns = ({ node }: SimulatedNode, key: string) => node?.route(slotOf(key)) === 'here';

/** A key of a node that it keeps when c joins: c has come and gone. */
async function stayingAt(stage: Stage, node: SimulatedNode): Promise<string> {
  const { a, c, key } = stage;
  void c.start();
  await stage.runUntil(() => owns(c, key));
  const [staying] = stage.keysOf(node);
  void c.leave(500);
  await stage.runUntil(() => owns(a, key));
  return staying!;
}

class Play {
  readonly stage: Stage;
  readonly #operation: Operation;
  readonly #keys: readonly string[];
  #reserved: readonly Decision[] = [];

  constructor(stage: Stage, operation: Operation, keys: readonly string[] = [stage.key]) {
    this.stage = stage;
    this.#operation = operation;
    this.#keys = keys;
  }

  /** Somebody gave back what was reserved, and others have used the rest. */
  async begin(): Promise<void> {
    const { a } = this.stage;
    await this.stage.run(2 * windowMs);
    this.#reserved = await this.#ask(a, { operation: 'reserve', cost: 5 });
    await this.#ask(a, { cost: 5 });
    await this.giveBack(a);
    await this.#ask(a, { cost: 5 });
    await this.stage.run(100);
  }

  async giveBack(at: SimulatedNode): Promise<void> {
    const decisions = await this.#ask(at, { operation: this.#operation, cost: 5, actual: 0 }, 'given back');
    for (const { allowed } of decisions) expect(allowed).toBe(true);
  }

  async remaining(at: SimulatedNode): Promise<number[]> {
    const looked = await this.#ask(at, { operation: 'peek', cost: 0 });
    return looked.map(({ remaining }) => remaining);
  }

  #ask(at: SimulatedNode, more: Partial<Check>, requestId?: string): Promise<Decision[]> {
    const isLater = more.operation === 'settle';
    const checks = this.#keys.map(
      (key, i): Check => ({
        name: 'rule',
        key,
        policy,
        cost: 1,
        ...more,
        ...(isLater && { receipt: this.#reserved[i]!.receipt }),
      }),
    );
    return this.stage.carriedOut(at, checks, requestId);
  }
}

async function expectOnce(play: Play, at: SimulatedNode): Promise<void> {
  const before = await play.remaining(at);
  expect(Math.max(...before)).toBeGreaterThan(0);
  expect(Math.max(...before)).toBeLessThan(20);
  await play.giveBack(at);
  expect(await play.remaining(at)).toEqual(before);
}

describe.each(operations)('what %s gave back is given back once', (operation) => {
  test('by whoever has taken the shard over as planned', async () => {
    const stage = await Stage.settled({ isForC: true });
    const play = new Play(stage, operation);
    await play.begin();
    void stage.c.start();
    await stage.runUntil(() => owns(stage.c, stage.key));
    await expectOnce(play, stage.c);
  });

  test('by the standby of an owner that is gone, and by its own standby', async () => {
    const stage = await Stage.settled({ shared: { unreplicated: 10 } });
    const { a, b, key } = stage;
    const play = new Play(stage, operation);
    await play.begin();
    a.crash();
    await stage.runUntil(() => owns(b, key));
    await expectOnce(play, b);
    void a.start();
    await stage.run(3 * ttlMs);
    const [heir, owner] = owns(a, key) ? [b, a] : [a, b];
    owner.crash();
    await stage.runUntil(() => owns(heir, key));
    await expectOnce(play, heir);
  });

  test('by the standby of an owner that was gone as soon as it had said so, however little it was', async () => {
    const stage = await Stage.settled({ shared: { unreplicated: 10 } });
    const { a, b, key } = stage;
    await stage.run(2 * windowMs);
    const ask = async (at: SimulatedNode, more: Partial<Check>, requestId?: string) =>
      (await stage.carriedOut(at, [{ name: 'rule', key, policy, cost: 1, ...more }], requestId))[0]!;
    const { receipt } = await ask(a, { operation: 'reserve' });
    await ask(a, { cost: 10 });
    await stage.run(100);
    const giveBack = (at: SimulatedNode) => ask(at, { operation, actual: 0, receipt }, 'given back');
    expect(await giveBack(a)).toMatchObject({ allowed: true });
    a.crash();
    await stage.runUntil(() => owns(b, key));
    const look = () => ask(b, { operation: 'peek', cost: 0 });
    const { remaining } = await look();
    await giveBack(b);
    expect(await look()).toMatchObject({ remaining });
  });

  test('where it was sent to one owner, and its keys are of two by then', async () => {
    const stage = await Stage.settled({ isForC: true });
    const { a, b, c, key } = stage;
    const staying = await stayingAt(stage, a);
    const play = new Play(stage, operation, [key, staying]);
    await play.begin();
    void c.start();
    await stage.runUntil(() => owns(c, key));
    expect(owns(a, staying)).toBe(true);
    await expectOnce(play, b);
  });
});

test('an old block does not replace a later one', async () => {
  const stage = await Stage.settled({ isForC: true });
  await stage.run(2 * windowMs);
  const block = (at: SimulatedNode, durationMs: number, requestId: string) =>
    stage.carriedOut(
      at,
      [{ name: 'rule', key: stage.key, policy, cost: 1, operation: 'block', durationMs }],
      requestId,
    );
  await block(stage.a, 10, 'short');
  await block(stage.a, 5000, 'long');
  void stage.c.start();
  await stage.runUntil(() => owns(stage.c, stage.key));
  await block(stage.c, 10, 'short');
  await stage.run(100);
  const [decision] = await stage.carriedOut(stage.c, [{ name: 'rule', key: stage.key, policy, cost: 1 }]);
  expect(decision).toMatchObject({ allowed: false, reason: 'blocked' });
});

test('what was taken for a batch and given back, because another owner refused, is not granted again', async () => {
  const stage = await Stage.settled({ isForC: true, shared: { graceMs: 100 } });
  const { a, b, c, key } = stage;
  const other = await stayingAt(stage, b);
  await stage.run(2 * windowMs);
  const check = (of: string, more: Partial<Check> = {}): Check => ({ name: 'rule', key: of, policy, cost: 5, ...more });
  const batch = [check(other), check(key)];
  await stage.carriedOut(a, [check(key, { cost: 20 })]);
  const [, refused] = await stage.carriedOut(b, batch, 'both');
  expect(refused!.allowed).toBe(false);
  await stage.carriedOut(a, [check(key, { operation: 'reset' })]);
  void c.start();
  await stage.runUntil(() => owns(c, key));
  const [granted, grantedToo] = await stage.carriedOut(b, batch, 'both');
  expect([granted!.allowed, grantedToo!.allowed]).toEqual([true, true]);
  const [left] = await stage.carriedOut(b, [check(other, { operation: 'peek', cost: 0 })]);
  expect(left).toMatchObject({ remaining: 15 });
});

test('what else is in a batch with it is asked for anew', async () => {
  const stage = await Stage.settled({ isForC: true });
  await stage.run(2 * windowMs);
  const check = (key: string, more: Partial<Check> = {}): Check => ({ name: 'rule', key, policy, cost: 5, ...more });
  const batch = [check(stage.key, { name: 'other' }), check(stage.key, { operation: 'reward' })];
  for (let i = 0; i < 3; i += 1) await stage.carriedOut(stage.a, [check(stage.key)]);
  await stage.carriedOut(stage.a, batch, 'both');
  void stage.c.start();
  await stage.runUntil(() => owns(stage.c, stage.key));
  const [granted, rewarded] = await stage.carriedOut(stage.c, batch, 'both');
  expect(granted).toMatchObject({ allowed: true, remaining: 10 });
  expect(rewarded).toMatchObject({ allowed: true, remaining: 10 });
});
