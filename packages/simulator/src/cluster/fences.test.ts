/**
 * Each fence, and a schedule that needs it: with all fences the auditor has nothing to object to, without that one it does. A key of node a
 * has five uses per second; times are in milliseconds.
 */
import { type Decision, slidingSlots } from 'sluice';
import { allFences, type PeerMessage, type Transaction } from 'sluice-server/cluster';
import { describe, expect, test } from 'vitest';
import { etcdHost } from './etcd-model.ts';
import type { Envelope } from './network.ts';
import type { SimulatedNode } from './simulated-node.ts';
import {
  graceMs,
  limit,
  quarantineMs,
  Stage,
  type StageOptions,
  takeOverMs,
  ttlMs,
  windowMs,
} from './stage.test-support.ts';
import type { AllFences } from './world.ts';

interface Schedule extends Omit<StageOptions, 'without'> {
  /** What happens that would be too much. */
  readonly story: string;
  play(stage: Stage): Promise<void>;
}

/** A node's transaction that gives shards away by an offer. */
const isHandOver = ({ from, what, content }: Envelope) =>
  from === 'a' && what === 'etcd' && JSON.stringify((content as Transaction).change).includes('offer:');

const isToEtcd = ({ from, what }: Envelope) => from === 'a' && what === 'etcd';

/** A standby is kept, and one use may be ahead of it. */
const withStandby = { shared: { unreplicated: 1 } };

let firstCopies: PeerMessage[] = [];

const schedules: Record<keyof AllFences, Schedule> = {
  callerAge: {
    story: 'answers take longer than a window, and are used together with those of the next',
    async play(stage) {
      stage.mail(({ what }) => (what === '?check' ? windowMs + 50 : undefined));
      await stage.spend(stage.a);
      stage.mail(({ what }) => (what === '?check' ? 1 : undefined));
      await stage.run(windowMs + 10);
      await stage.spend(stage.a);
      await stage.run(50);
    },
  },

  rightInTheTick: {
    story: 'the owner is stopped until another one has the key, goes on, and is asked before it can hear of that',
    async play(stage) {
      stage.world.network.cut('b', 'a');
      const goOn = stage.a.host.pause();
      await stage.run(takeOverMs + quarantineMs);
      await stage.spend(stage.b);
      goOn();
      await stage.spend(stage.a);
    },
  },

  rightFromSending: {
    story:
      'the owner is stopped right after it sent a renewal, and finds the answer when it goes on; etcd hears no more of it',
    async play(stage) {
      let goOn: (() => void) | undefined;
      stage.world.network.cut('b', 'a');
      stage.mail((envelope) => {
        if (!isToEtcd(envelope)) return undefined;
        if (goOn) return 'lost';
        const resume = stage.a.host.pause();
        goOn = () => resume('message');
        return 0.1;
      });
      await stage.run(ttlMs / 5 + 350);
      goOn?.();
      await stage.run(370);
      await stage.spend(stage.a);
      await stage.run(windowMs - 300);
      await stage.press(stage.b, 300);
    },
  },

  unknownRenewalIsNone: {
    story: 'no renewal of the owner arrives any more, and nobody can tell it what came of that',
    async play(stage) {
      stage.world.network.cut('b', 'a');
      stage.mail((envelope) => (isToEtcd(envelope) ? 'lost' : undefined));
      await stage.run(takeOverMs + quarantineMs);
      await stage.spend(stage.a);
      await stage.spend(stage.b);
    },
  },

  compareRevisions: {
    story: 'a hand-over that was given up arrives at etcd after all, with a state from before the last grants',
    isForC: true,
    async play(stage) {
      let isLate = false;
      stage.mail((envelope) => {
        if (isLate || !isHandOver(envelope)) return undefined;
        isLate = true;
        return 300;
      });
      void stage.c.start();
      await stage.runUntil(() => isLate);
      stage.mail(({ what }) => (what === 'offer' ? 'lost' : undefined));
      await stage.run(130);
      await stage.spend(stage.a);
      await stage.run(200);
      await stage.press(stage.c, 100);
    },
  },

  observedSilence: {
    story: 'the owner cannot reach etcd, nor be reached by the others, and goes on for as long as it may',
    async play(stage) {
      stage.world.network.cut('b', 'a');
      stage.world.network.cut('a', etcdHost);
      await stage.run(280);
      await stage.spend(stage.a);
      await stage.run(quarantineMs - 150);
      await stage.spend(stage.b);
    },
  },

  driftAllowance: {
    story: 'the clock of the owner is as fast as a clock may be, and its grants are used at the last moment',
    fromTheStart: true,
    clocks: { a: { rate: 1.001 } },
    delayMs: 0.01,
    async play(stage) {
      await stage.spend(stage.a, { useAtAgeMs: graceMs - 0.05 });
      await stage.run(windowMs - 5);
      for (let i = 0; i < 200; i += 1) {
        stage.ask(stage.a);
        await stage.run(0.1);
      }
    },
  },

  suspensionEndsRight: {
    story:
      'the machine of the owner sleeps, and wakes up with a clock that has not noticed, before anybody can tell it',
    async play(stage) {
      stage.world.network.cut('b', 'a');
      const wake = stage.a.host.suspend();
      await stage.run(takeOverMs + quarantineMs);
      await stage.spend(stage.b);
      wake();
      await stage.spend(stage.a);
    },
  },

  quarantine: {
    story: 'the owner dies with all it knew',
    async play(stage) {
      await stage.spend(stage.a);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.b);
    },
  },

  widerWindow: {
    story: 'grants are used at the last moment, those of the next window at once',
    fromTheStart: true,
    async play(stage) {
      await stage.spend(stage.a, { useAtAgeMs: graceMs - 1 });
      await stage.run(windowMs - 2 * graceMs);
      await stage.press(stage.a, 30);
    },
  },

  onlyOwnersCount: {
    story: 'a node that cannot reach the owner is asked',
    async play(stage) {
      stage.mail(({ from, to }) => (from === 'b' && to === 'a' ? 'lost' : undefined));
      stage.ask(stage.b, { door: 'http' });
      await stage.run(210);
      await stage.spend(stage.a);
      await stage.spend(stage.b, { door: 'http' });
    },
  },

  freezeBeforeHandOver: {
    story: 'the owner grants while its state is on its way to the next',
    async play(stage) {
      stage.mail(({ what }) => (what === 'offer' ? 30 : undefined));
      void stage.a.leave(2000);
      await stage.run(10);
      await stage.spend(stage.a, {}, 3);
      await stage.run(60);
      await stage.spend(stage.b);
    },
  },

  offerNamedByTable: {
    story: 'an offer that came to nothing is still there when the owner dies',
    isForC: true,
    async play(stage) {
      let isOffered = false;
      stage.mail(({ what, to }) => {
        if (what !== '?offer' || to !== 'a') return undefined;
        isOffered = true;
        return 'lost';
      });
      void stage.c.start();
      await stage.runUntil(() => isOffered);
      await stage.run(60);
      await stage.spend(stage.a);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.c);
    },
  },

  ruleOutBeforeThaw: {
    story: 'nobody knows what became of a hand-over: the owner goes on, and then it happens',
    async play(stage) {
      const { loop } = stage.world;
      let givenMs = Number.POSITIVE_INFINITY;
      stage.mail((envelope) => {
        if (isHandOver(envelope) && loop.nowMs < givenMs) {
          givenMs = loop.nowMs;
          return 115;
        }
        if (isToEtcd(envelope) && loop.nowMs >= givenMs) return 250;
        // A renewal of the taker would rule it out as well.
        const isMeanwhile = loop.nowMs >= givenMs && loop.nowMs < givenMs + 110;
        return envelope.to === etcdHost && isMeanwhile ? 120 : undefined;
      });
      void stage.a.leave(2000);
      await stage.runUntil(() => givenMs < loop.nowMs);
      await stage.run(101);
      await stage.spend(stage.a);
      await stage.run(200);
      await stage.spend(stage.b);
    },
  },

  agesNotDates: {
    story: 'the next owner has a clock that shows a much later time',
    fromTheStart: true,
    clocks: { a: { originMs: 0 }, b: { originMs: 1_000_000 } },
    async play(stage) {
      await stage.spend(stage.a);
      void stage.a.leave(2000);
      await stage.run(50);
      await stage.spend(stage.b);
    },
  },

  tableNeverGoesBack: {
    ...withStandby,
    story: 'a slot table of a time without a standby arrives late, and the owner goes on without the one it has now',
    async play(stage) {
      let isCut = true;
      stage.mail(({ what }) => (isCut && what === 'replicate' ? 'lost' : undefined));
      const late = stage.intercept(({ what, to }) => what === 'table' && to === 'a');
      stage.ask(stage.a);
      stage.ask(stage.b, { key: stage.keysOf(stage.b)[0]! });
      await stage.runUntil(() => late.length > 0);
      isCut = false;
      await stage.run(2 * windowMs);
      stage.mail(({ what }) => (what === 'replicate' ? 'lost' : undefined));
      stage.a.hear(late[0]!, () => {});
      await stage.spend(stage.a);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.b);
    },
  },

  boundedLag: {
    ...withStandby,
    story: 'the owner dies before its standby has heard of its grants',
    async play(stage) {
      stage.mail(({ what }) => (what === 'replicate' ? 'lost' : undefined));
      await stage.spend(stage.a);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.b);
    },
  },

  lagCountsAsUsed: {
    ...withStandby,
    story: 'the owner dies with one grant that its standby has not heard of',
    async play(stage) {
      // The first of a name waits until the standby knows how far ahead of it the others may be.
      stage.ask(stage.a);
      await stage.run(5);
      stage.mail(({ what }) => (what === 'replicate' ? 'lost' : undefined));
      stage.ask(stage.a);
      await stage.run(5);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.b);
    },
  },

  lossRecordedFirst: {
    ...withStandby,
    story: 'the standby does not answer, the owner goes on without it, and dies',
    async play(stage) {
      stage.mail(({ what }) => (what === 'replicate' ? 'lost' : undefined));
      stage.ask(stage.a);
      await stage.run(215);
      stage.mail((envelope) => (isToEtcd(envelope) ? 'lost' : undefined));
      await stage.spend(stage.a);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.b);
    },
  },

  copySessions: {
    ...withStandby,
    story: 'the beginning of an earlier copy arrives after that of a later one',
    prepare(stage) {
      firstCopies = stage.intercept(
        ({ what, from }) => what === 'replicate' && from === 'a' && stage.world.loop.nowMs < 1500,
      );
    },
    async play(stage) {
      await stage.spend(stage.a);
      for (const copy of firstCopies) stage.b.hear(copy, () => {});
      await stage.run(1);
      stage.a.crash();
      await stage.run(takeOverMs);
      await stage.spend(stage.b);
    },
  },

  reserveAhead: {
    story: 'the whole cluster dies and comes back, and nobody waits for a window that is long',
    shared: { durableFromMs: windowMs },
    async play(stage) {
      await stage.press(stage.a, 20);
      stage.a.crash();
      stage.b.crash();
      void stage.a.start();
      void stage.b.start();
      await stage.run(takeOverMs);
      await stage.press(stage.b, 100, { door: 'http' });
    },
  },

  doneOnce: {
    story:
      "a reservation is given back, and once more when others have used what it held and the key is another node's",
    isForC: true,
    policy: slidingSlots({ limit, window: windowMs }),
    async play(stage) {
      const { a, c, key } = stage;
      const check = { ...stage.checkOf(key), cost: limit - 1 };
      await stage.run(windowMs);
      const [{ receipt }] = (await stage.carriedOut(a, [{ ...check, operation: 'reserve' }])) as [Decision];
      const giveBack = (at: SimulatedNode) =>
        stage.carriedOut(at, [{ ...check, operation: 'settle', actual: 0, receipt }], 'given back');
      await giveBack(a);
      await stage.spend(a);
      void c.start();
      await stage.runUntil(() => stage.keysOf(c).includes(key));
      await giveBack(c);
      await stage.spend(c);
    },
  },
};

describe.each(Object.entries(schedules))('%s', (name, { story, play, ...options }) => {
  const fence = name as keyof AllFences;

  async function objections(without: keyof AllFences | undefined): Promise<string[]> {
    const stage = await Stage.settled({ ...options, without });
    await play(stage);
    expect(stage.used).toBeGreaterThan(0);
    return stage.objections;
  }

  test(`is needed when ${story}`, async () => {
    expect(await objections(undefined)).toEqual([]);
    expect(await objections(fence)).not.toEqual([]);
  });
});

test('every fence has its schedule', () => {
  expect(Object.keys(schedules).sort()).toEqual([...Object.keys(allFences), 'callerAge'].sort());
});
