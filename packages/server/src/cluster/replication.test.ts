import { type Check, parsePolicy } from 'sluice';
import { expect, test } from 'vitest';
import type { NodeEnvironment } from './environment.ts';
import { allFences } from './fences.ts';
import type { PeerReply, Replication } from './messages.ts';
import { OwnedPolicies } from './owned-policy.ts';
import { Standbys } from './replication.ts';
import { Shard } from './shard.ts';
import { mostStateBytes } from './state-bytes.ts';
import { StepBytes } from './step-bytes.ts';

const policy = parsePolicy({ algorithm: 'gcra', limit: 100, window: 1000 });
const shared = { graceMs: 10, unreplicated: 10, durableFromMs: 3_600_000 };
const policies = new OwnedPolicies(shared, allFences);
const owned = policies.of(policy);

/** An owner whose clock stands still until it is told to go on, and a standby that confirms when it is told to. */
async function ownerWithStandby() {
  let nowMs = 1000;
  const timers: { dueMs: number; action: () => void }[] = [];
  const asked: { message: Replication; confirm(): Promise<void>; refuse(): Promise<void> }[] = [];
  const environment = {
    clock: {
      nowMs: () => nowMs,
      uptimeMs: () => nowMs,
      after(ms: number, action: () => void) {
        const timer = { dueMs: nowMs + ms, action };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    },
    peers: {
      ask: (_: string, message: Replication) =>
        new Promise<PeerReply>((resolve) => {
          const reply = async (answer: PeerReply) => {
            resolve(answer);
            await new Promise(setImmediate);
          };
          const shards = message.shards.map(({ shard }) => shard);
          asked.push({
            message,
            confirm: () => reply({ kind: 'copied', shards }),
            refuse: () => reply({ kind: 'not-mine' }),
          });
        }),
    },
    log: { debug() {} },
  } as unknown as NodeEnvironment;
  const standbys = new Standbys(environment, allFences, 500, () => ({ id: 'a', epoch: 1 }));
  const shard = Shard.unknown(7, environment.clock, 100, { ...allFences, quarantine: false });
  shard.decidedMs = nowMs;
  const advance = (ms: number) => {
    nowMs += ms;
    for (const timer of timers.filter(({ dueMs }) => dueMs <= nowMs)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.action();
    }
  };
  standbys.begin(shard, { id: 'b', address: 'b:1' });
  advance(0);
  await asked[0]!.confirm();
  const grant = (key: string) => standbys.carriedOutPlain(7, { name: 'api', key, policy, cost: 1 }, owned);
  const carryOut = (...batch: Partial<Check>[]) =>
    standbys.carriedOut(
      7,
      batch.map((check) => policies.ownedCheck({ name: 'api', key: 'ann', policy, cost: 1, ...check })),
    );
  const stepsOf = (place: number) => {
    const { steps } = asked[place]!.message;
    let count = 0;
    const one = () => {
      count += 1;
      return true;
    };
    new StepBytes(steps).visit(0, steps.length, { plain: one, batch: one });
    return count;
  };
  return { standbys, advance, grant, carryOut, asked, stepsOf };
}

test('what was carried out is told together, a while later', async () => {
  const { advance, grant, asked, stepsOf } = await ownerWithStandby();
  for (let i = 0; i < 40; i += 1) expect(grant(`key-${i}`)).toBeUndefined();
  advance(19);
  expect(asked).toHaveLength(1);
  advance(1);
  expect(asked).toHaveLength(2);
  expect(stepsOf(1)).toBe(40);
  expect(asked[1]!.message.kinds).toEqual([['api', JSON.stringify(policy)]]);
});

test('a key that is half way to where it has to wait is told of sooner', async () => {
  const { advance, grant, asked } = await ownerWithStandby();
  for (let i = 0; i < 6; i += 1) grant('hot');
  advance(5);
  expect(asked).toHaveLength(2);
});

test('a key that is too far ahead waits until the standby has all of it, and is told of at once', async () => {
  const { advance, grant, asked, stepsOf } = await ownerWithStandby();
  for (let i = 0; i < 10; i += 1) expect(grant('hot')).toBeUndefined();
  let isConfirmed = false;
  const waits = grant('hot')!.then(() => {
    isConfirmed = true;
  });
  advance(0);
  expect(stepsOf(1)).toBe(11);
  await new Promise(setImmediate);
  expect(isConfirmed).toBe(false);
  await asked[1]!.confirm();
  await waits;
  expect(grant('hot')).toBeUndefined();
});

test('while a message is on its way nothing else is sent; what came up meanwhile follows its confirmation', async () => {
  const { advance, grant, asked, stepsOf } = await ownerWithStandby();
  grant('one');
  advance(20);
  expect(asked).toHaveLength(2);
  grant('two');
  advance(100);
  expect(asked).toHaveLength(2);
  await asked[1]!.confirm();
  advance(20);
  expect(asked).toHaveLength(3);
  expect(stepsOf(2)).toBe(1);
});

test('shards that are told of together, now and while a message is on its way, each say what their steps were', async () => {
  const { standbys, advance, asked } = await ownerWithStandby();
  const clock = { nowMs: () => 1000, uptimeMs: () => 1000, after: () => () => {} };
  for (const number of [8, 9]) {
    const shard = Shard.unknown(number, clock, 100, { ...allFences, quarantine: false });
    shard.decidedMs = 1000;
    standbys.begin(shard, { id: 'b', address: 'b:1' });
  }
  advance(0);
  await asked[1]!.confirm();
  const grants: string[] = [];
  const grant = (shard: number, name: string, limit: number) => {
    const other = parsePolicy({ algorithm: 'gcra', limit, window: 1000 });
    const check = { name, key: `key of ${shard}`, policy: other, cost: 1 };
    expect(standbys.carriedOutPlain(shard, check, policies.of(other))).toBeUndefined();
    grants.push(`${shard} ${name} ${limit}`);
  };
  const heard: string[] = [];
  const hear = ({ kinds, shards, steps }: Replication) => {
    let end = 0;
    for (const { shard, stepBytes } of shards) {
      const start = end;
      end += stepBytes;
      new StepBytes(steps).visit(start, end, {
        plain(kind, _atMs, _cost, bytes, from, to) {
          expect(Buffer.from(bytes.subarray(from, to)).toString()).toBe(`key of ${shard}`);
          const [name, text] = kinds[kind]!;
          return heard.push(`${shard} ${name} ${JSON.parse(text).limit}`) > 0;
        },
        batch: () => expect.unreachable(),
      });
    }
    expect(end).toBe(steps.length);
  };
  for (let round = 0; round < 4; round += 1) {
    // In another order each time, so that a name with its policy has another number in each message.
    for (let i = 0; i < 6; i += 1) {
      const turn = i + round;
      grant(7 + (turn % 3), ['api', 'login'][turn % 2]!, 100 + (turn % 4));
    }
    advance(20);
    const { message, confirm } = asked.at(-1)!;
    // What comes now is for the next message.
    grant(7 + (round % 3), 'late', 200 + round);
    hear(message);
    await confirm();
  }
  advance(20);
  hear(asked.at(-1)!.message);
  expect(heard.sort()).toEqual(grants.sort());
});

test('keys of one slot are told of together, and none of them waits for another', async () => {
  const { advance, grant, asked } = await ownerWithStandby();
  for (let i = 0; i < 5; i += 1)
    for (const key of ['{slot}a', '{slot}b', '{slot}c', '{slot}d']) expect(grant(key)).toBeUndefined();
  advance(5);
  expect(asked).toHaveLength(1);
  for (let i = 0; i < 5; i += 1) expect(grant('{slot}a')).toBeUndefined();
  expect(grant('{slot}a')).toBeInstanceOf(Promise);
});

test('a key is as far ahead as the message under way and the next one say together', async () => {
  const { advance, grant, asked } = await ownerWithStandby();
  for (let i = 0; i < 5; i += 1) expect(grant('hot')).toBeUndefined();
  advance(20);
  for (let i = 0; i < 5; i += 1) expect(grant('hot')).toBeUndefined();
  expect(grant('hot')).toBeInstanceOf(Promise);
  await asked[1]!.confirm();
  // What was told is confirmed, and no more: six are left.
  for (let i = 0; i < 4; i += 1) expect(grant('hot')).toBeUndefined();
  expect(grant('hot')).toBeInstanceOf(Promise);
});

test('of a batch that asks for one key several times, all of it counts', async () => {
  const { carryOut } = await ownerWithStandby();
  expect(carryOut({ cost: 5 }, { cost: 5 })).toBeUndefined();
  expect(carryOut({ cost: 0.5 }, { cost: 0.5 })).toBeInstanceOf(Promise);
});

test('a key is bounded also while etcd is still to hear that its standby is gone', async () => {
  const { standbys, advance, grant, asked } = await ownerWithStandby();
  const copied = standbys.edits();
  standbys.telling(copied);
  standbys.told(copied);
  for (let i = 0; i < 2; i += 1) grant('hot');
  advance(20);
  for (let i = 0; i < 2; i += 1) grant('hot');
  await asked[1]!.refuse();
  // To whom it was told before it is told no more: nothing confirms it.
  advance(100);
  expect(asked).toHaveLength(2);
  for (let i = 0; i < 6; i += 1) expect(grant('hot')).toBeUndefined();
  expect(grant('hot')).toBeInstanceOf(Promise);
});

test('etcd hears of a standby once that has what nobody waited for while the state was on its way', async () => {
  const { standbys, advance, asked } = await ownerWithStandby();
  const clock = { nowMs: () => 1000, uptimeMs: () => 1000, after: () => () => {} };
  const shard = Shard.unknown(8, clock, 100, { ...allFences, quarantine: false });
  shard.decidedMs = 1000;
  standbys.begin(shard, { id: 'b', address: 'b:1' });
  advance(0);
  const grant = () => standbys.carriedOutPlain(8, { name: 'api', key: 'hot', policy, cost: 1 }, owned);
  for (let i = 0; i < 3 * owned.lag; i += 1) expect(grant()).toBeUndefined();
  await asked[1]!.confirm();
  // Whoever took over now would miss three times as much as it leaves room for.
  expect(standbys.edits().has(8)).toBe(false);
  expect(grant()).toBeInstanceOf(Promise);
  advance(20);
  await asked[2]!.confirm();
  expect(standbys.edits().has(8)).toBe(true);
});

test('shards too large for one message go one with each, whatever else is told meanwhile, and are read once', async () => {
  const { standbys, advance, grant, asked } = await ownerWithStandby();
  const clock = { nowMs: () => 1000, uptimeMs: () => 1000, after: () => () => {} };
  const read: number[] = [];
  for (const number of [8, 9, 10]) {
    const shard = Shard.unknown(number, clock, 100, { ...allFences, quarantine: false });
    const state = { ...shard.state(), settled: ['x'.repeat(mostStateBytes)] };
    shard.state = () => {
      read.push(number);
      return state;
    };
    standbys.begin(shard, { id: 'b', address: 'b:1' });
  }
  for (const number of [8, 9, 10]) {
    grant(`beside ${number}`);
    advance(0);
    const { message, confirm } = asked.at(-1)!;
    expect(message.shards.flatMap(({ shard, state }) => (state ? [shard] : []))).toEqual([number]);
    expect(message.shards.map(({ shard }) => shard)).toContain(7);
    await confirm();
  }
  expect(read).toEqual([8, 9, 10]);
});

test.each(['renew', 'block'] as const)(
  'a %s waits for the standby, whatever it says that it takes',
  async (operation) => {
    const { advance, carryOut, asked, stepsOf } = await ownerWithStandby();
    for (const batch of [[{ operation, cost: 0 }], [{}, { operation }]]) {
      let isConfirmed = false;
      const waits = carryOut(...batch)!.then(() => {
        isConfirmed = true;
      });
      advance(0);
      const place = asked.length - 1;
      expect(stepsOf(place)).toBe(1);
      await new Promise(setImmediate);
      expect(isConfirmed).toBe(false);
      await asked[place]!.confirm();
      await waits;
    }
    expect(asked).toHaveLength(3);
  },
);

test.each(['reserve', 'acquire', 'release', 'settle', 'reset'] as const)('a %s does not', async (operation) => {
  const { carryOut } = await ownerWithStandby();
  expect(carryOut({ operation })).toBeUndefined();
});

test('nobody waits for a standby that no slot table names, also where it was being told when it was given up', async () => {
  const { standbys, advance, carryOut, asked } = await ownerWithStandby();
  const waits = carryOut({ operation: 'renew' })!;
  advance(0);
  standbys.break(7);
  await asked[1]!.refuse();
  await expect(waits).resolves.toBeUndefined();
});

test('whoever waits for a standby that etcd was told of is not answered before etcd knows that it is none', async () => {
  const { standbys, advance, carryOut, asked } = await ownerWithStandby();
  const copied = standbys.edits();
  standbys.telling(copied);
  standbys.told(copied);
  let isAnswered = false;
  const waits = carryOut({ operation: 'renew' })!.then(() => {
    isAnswered = true;
  });
  advance(0);
  standbys.break(7);
  await asked[1]!.refuse();
  expect(isAnswered).toBe(false);
  const broken = standbys.edits();
  expect([...broken]).toEqual([[7, undefined]]);
  standbys.told(broken);
  await waits;
});
