import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCost, readCostOf } from './check-cost.ts';
import { serviceVariability } from './cluster-size.ts';
import { someFigures, someQuestion, someStore } from './plan.test-support.ts';
import { type Plan, plan } from './plan.ts';
import type { ClientFigures, PlanFigures, StoreFigures } from './plan-figures.ts';
import { gatherMsOf, type PlanQuestion } from './plan-question.ts';

interface Inputs {
  readonly question: PlanQuestion;
  readonly figures: PlanFigures;
  readonly store: StoreFigures;
}

const usual: Inputs = { question: someQuestion, figures: someFigures, store: someStore };

function planned({ question, figures, store }: Inputs): Plan {
  const found = plan(question, figures, store);
  if (typeof found === 'string') throw new Error(found);
  return found;
}

const asked = (change: Partial<PlanQuestion>): Inputs => ({ ...usual, question: { ...someQuestion, ...change } });
const kept = (change: Partial<StoreFigures>): Inputs => ({ ...usual, store: { ...someStore, ...change } });
const known = (change: Partial<PlanFigures>): Inputs => ({ ...usual, figures: { ...someFigures, ...change } });

/** With other figures of the smart client. */
function measured(change: (figures: ClientFigures) => Partial<ClientFigures>): Inputs {
  const clients = someFigures.clients.map((one) => (one.client === 'smart' ? { ...one, ...change(one) } : one));
  return known({ clients });
}

const slower = (by: number) =>
  measured(({ atMost, atLoad }) => ({
    atMost: atMost.map((one) => ({ ...one, processorUs: by * one.processorUs })),
    atLoad: { ...atLoad, processorUs: by * atLoad.processorUs, checksPerSecond: atLoad.checksPerSecond / by },
  }));

const nodesOf = ({ size: { clusters, nodes } }: Plan) => clusters * nodes;

describe('a plan', () => {
  it('keeps load and latency at the busiest node, also with the lost ones gone, and no fewer nodes do', () => {
    for (const nodesPerFailure of [0, 1, 5]) {
      const { question, size } = planned(asked({ nodesPerFailure }));
      expect(size.someLost.nodes).toBe(size.nodes - nodesPerFailure);
      for (const { load, latency } of [size.allUp, size.someLost]) {
        expect(load).toBeLessThanOrEqual(question.load);
        expect(latency.totalMs).toBeLessThanOrEqual(question.latencyMs);
      }
      const cores = (question.checksPerSecond * size.someLost.cost.totalUs) / 1e6 / question.load;
      expect(size.nodes).toBeGreaterThanOrEqual(cores);
      expect(size.nodes).toBeLessThan(1.4 * cores + 1 + nodesPerFailure);
    }
  });

  it('of a hand calculation: cores for the checks, whole nodes, one to lose', () => {
    // A check of 2 us and a read of 8 us, each by itself; no copies; a node does all of a plain service: 10 us. 7 checks/s * 10 us = 70 us/s.
    const { size } = planned(
      asked({
        checksPerSecond: 70_000,
        gatherMs: 0,
        unreplicated: 0,
        ownedRatio: 0.999_999,
        users: 1e9,
        latencyMs: 1000,
      }),
    );
    expect(size.someLost.cost.totalUs).toBeCloseTo(10, 4);
    expect([size.someLost.nodes, size.nodes]).toEqual([2, 3]); // 0.7 is what one could do if it owned everything, and a bit is what it lacks.
    expect(size.someLost.load).toBeCloseTo(0.7 * size.someLost.share, 3);
  });

  it('takes forwarding to cost the same whoever asked any node', () => {
    const forwardedUs = (['http', 'grpc'] as const).map((client) => {
      const traffic = { nodes: 100, batch: 1, checksPerSecond: 1000 };
      return checkCost({ ...someQuestion, client, unreplicated: 0 }, someFigures, someStore, traffic).forwardedUs;
    });
    // Asking and answering, 10 us each, and 0.8 us for being a node: of 1.87 us for a check, divided by 0.7.
    expect(forwardedUs).toEqual([expect.closeTo(0.99 * 2 * 10.8, 1), expect.closeTo(0.99 * 2 * 10.8, 1)]);
  });

  it('asks for about twice the nodes for twice the checks', () => {
    const ratio = nodesOf(planned(asked({ checksPerSecond: 10_000_000 }))) / nodesOf(planned(usual));
    expect(ratio).toBeGreaterThan(1.7);
    expect(ratio).toBeLessThan(2.5);
  });

  it('of more than one cluster where a cluster has no more shards to give away', () => {
    const { size } = planned(asked({ checksPerSecond: 100_000_000, users: 80_000_000 }));
    expect(size.clusters).toBeGreaterThan(1);
    expect(size.nodes).toBeLessThanOrEqual(1024);
  });

  // What must grow, or shrink, when something else does. Every figure and every answer that a plan is made of has a row.
  const rows: [name: string, change: Inputs, of: (plan: Plan) => number, direction: 'more' | 'less'][] = [
    ['a slower core: more nodes', slower(2), nodesOf, 'more'],
    ['a faster core: fewer nodes', slower(0.5), nodesOf, 'less'],
    [
      'reads that cost more: more nodes',
      measured(({ atMost: [first, deep] }) => ({ atMost: [{ ...first!, processorUs: 20 }, deep!] })),
      nodesOf,
      'more',
    ],
    [
      'a longer tail: a longer p99',
      measured(({ atLoad }) => ({ atLoad: { ...atLoad, p99Ms: 3 } })),
      (p) => p.size.allUp.latency.totalMs,
      'more',
    ],
    [
      'a generator that was late: a shorter p99',
      measured(({ atLoad }) => ({ atLoad: { ...atLoad, sentLateP99Ms: 0.4 } })),
      (p) => p.size.allUp.latency.totalMs,
      'less',
    ],
    [
      'a slower answer with nothing to do: a longer p99',
      measured(() => ({ idleP50Ms: 0.4 })),
      (p) => p.size.allUp.latency.idleMs,
      'more',
    ],
    [
      'longer requests: more network',
      measured(() => ({ requestBytes: 400 })),
      (p) => p.network.bytesInPerSecond,
      'more',
    ],
    ['longer replies: more network', measured(() => ({ replyBytes: 400 })), (p) => p.network.bytesOutPerSecond, 'more'],
    ['more bytes per key: more memory', kept({ bytesPerKey: 4000 }), (p) => p.memory.bytesPerNode, 'more'],
    [
      'more bytes per grant that is copied: more network',
      kept({ stepBytes: 300 }),
      (p) => p.network.copyBytesPerSecond,
      'more',
    ],
    ['slower telling: more nodes', kept({ stepOwnerUs: 5 }), nodesOf, 'more'],
    ['slower telling of shards: more nodes', kept({ entryOwnerUs: 9 }), nodesOf, 'more'],
    ['slower copying of shards: more nodes', kept({ entryStandbyUs: 9 }), nodesOf, 'more'],
    [
      'more bytes per shard that is copied: more network',
      kept({ entryBytes: 800 }),
      (p) => p.network.copyBytesPerSecond,
      'more',
    ],
    ['copies that are told less often: fewer nodes', asked({ copyEveryMs: 20 }), nodesOf, 'less'],
    ['slower copying: more nodes', kept({ stepStandbyUs: 5 }), nodesOf, 'more'],
    [
      'slower snapshots: shards stand still for longer',
      kept({ snapshotUsPerKey: 50 }),
      (p) => p.restart.frozenMs,
      'more',
    ],
    [
      'slower restoring: shards stand still for longer',
      kept({ restoreUsPerKey: 50 }),
      (p) => p.restart.frozenMs,
      'more',
    ],
    [
      'larger snapshots: a restart moves more',
      kept({ snapshotBytesPerKey: 2000 }),
      (p) => p.restart.bytesMoved,
      'more',
    ],
    ['a larger process: more memory', known({ idleRssBytes: 400e6 }), (p) => p.memory.bytesPerNode, 'more'],
    ['a slower start: a longer restart', known({ startMs: 4000 }), (p) => p.restart.totalMs, 'more'],
    [
      'a node that is nearly a plain service: cheaper checks',
      known({
        etcd: {
          ownedReadUs: 0,
          ownedCheckUs: 0.1,
          transactionP50Ms: 1,
          transactionP99Ms: 5,
          transactionsPerSecond: 5000,
          recordsPerSecond: 1e6,
        },
      }),
      (p) => p.size.someLost.cost.totalUs,
      'less',
    ],
    [
      'a slower etcd: shards stand still for longer',
      known({
        etcd: {
          ownedReadUs: 0,
          ownedCheckUs: 0.8,
          transactionP50Ms: 1,
          transactionP99Ms: 50,
          transactionsPerSecond: 5000,
          recordsPerSecond: 1e6,
        },
      }),
      (p) => p.restart.frozenMs,
      'more',
    ],

    ['larger keys: more memory', asked({ keyBytes: 200 }), (p) => p.memory.bytesInAll, 'more'],
    ['larger keys: more network', asked({ keyBytes: 200 }), (p) => p.network.bytesInPerSecond, 'more'],
    ['more users: more memory', asked({ users: 8_000_000 }), (p) => p.memory.bytesInAll, 'more'],
    [
      'a shorter window: fewer keys alive',
      asked({ policy: { ...someQuestion.policy, window: 500 } }),
      (p) => p.memory.liveKeys,
      'less',
    ],
    [
      'a longer window: more refused after a crash without a copy',
      asked({ policy: { ...someQuestion.policy, window: 600_000 } }),
      (p) => p.failover.refusedWithout,
      'more',
    ],
    ['less load: more nodes', asked({ load: 0.35 }), nodesOf, 'more'],
    ['a latency that leaves little time to wait: more nodes', asked({ latencyMs: 1.9 }), nodesOf, 'more'],
    ['a slower network: a longer p99', asked({ roundTripMs: 2 }), (p) => p.size.allUp.latency.totalMs, 'more'],
    ['fewer callers: more checks in a write, fewer nodes', asked({ callers: 50 }), nodesOf, 'less'],
    [
      'longer gathering: more checks in a write, cheaper ones',
      asked({ gatherMs: 4 }),
      (p) => p.size.someLost.cost.totalUs,
      'less',
    ],
    [
      'more refused by the limit: fewer copies',
      asked({ refusedRatio: 0.5 }),
      (p) => p.network.copyBytesPerSecond,
      'less',
    ],
    ['uneven arrivals: a longer p99', asked({ arrivalVariability: 20 }), (p) => p.size.allUp.latency.waitMs, 'more'],
    ['uneven serving: a longer p99', asked({ serviceVariability: 200 }), (p) => p.size.allUp.latency.waitMs, 'more'],
    ['more nodes lost at once: more nodes', asked({ nodesPerFailure: 10 }), nodesOf, 'more'],
    [
      'more failures: more refused in a year',
      asked({ failuresPerNodePerYear: 40 }),
      (p) => p.failover.refusedRatioPerYearWithCopy,
      'more',
    ],
    ['a longer ttl: nobody decides for longer', asked({ ttlMs: 20_000 }), (p) => p.failover.unservedMs, 'more'],
    ['a longer ttl: fewer writes to etcd', asked({ ttlMs: 20_000 }), (p) => p.etcd.writesPerSecond, 'less'],
    ['more grace: a longer quarantine', asked({ graceMs: 1000 }), (p) => p.failover.quarantineMs, 'more'],
    ['no copies: fewer nodes', asked({ unreplicated: 0 }), nodesOf, 'less'],
    ['no copies: less network', asked({ unreplicated: 0 }), (p) => p.network.bytesInPerSecond, 'less'],
    ['no copies: less memory', asked({ unreplicated: 0 }), (p) => p.memory.bytesInAll, 'less'],
    [
      'fewer ahead of the copy: fewer refused after a crash',
      asked({ unreplicated: 2 }),
      (p) => p.failover.refusedWithCopy,
      'less',
    ],
    [
      'a window that must be durable: more writes to etcd',
      asked({ durableFromMs: 60_000 }),
      (p) => p.etcd.writesPerSecond,
      'more',
    ],
    [
      'an etcd that keeps more: a larger database',
      asked({ etcdRetentionMs: 36_000_000 }),
      (p) => p.etcd.databaseBytes,
      'more',
    ],
    [
      'smaller clusters: fewer records to read for each etcd',
      asked({ nodesPerCluster: 64 }),
      (p) => p.etcd.readsPerSecond,
      'less',
    ],
    ['larger machines: fewer of them', asked({ coresPerMachine: 64 }), (p) => p.machines, 'less'],
    ['longer packet heads: more network', asked({ packetBytes: 200 }), (p) => p.network.bytesInPerSecond, 'more'],
    [
      'a node that has more to do with a read: more nodes',
      known({
        etcd: {
          ownedReadUs: 10,
          ownedCheckUs: 0.8,
          transactionP50Ms: 1,
          transactionP99Ms: 5,
          transactionsPerSecond: 5000,
          recordsPerSecond: 1e6,
        },
      }),
      nodesOf,
      'more',
    ],
    ['nodes that are slower than a plain service: more of them', asked({ ownedRatio: 0.4 }), nodesOf, 'more'],
    ['a slower core: a hot key may take less', slower(2), (p) => p.hotKey.atMost, 'less'],
  ];

  it.each(rows)('%s', (_, change, of, direction) => {
    const [before, after] = [of(planned(usual)), of(planned(change))];
    if (direction === 'more') expect(after).toBeGreaterThan(before);
    else expect(after).toBeLessThan(before);
  });

  it('windows that must be durable are written once for each grant of a key, or as often as is asked for, whichever is less', () => {
    const writes = (change: Partial<PlanQuestion>) =>
      planned(asked({ durableFromMs: 60_000, ...change })).etcd.reservationsPerSecond;
    expect(writes({}) / 4_000_000).toBeCloseTo(1, 3); // 1.25 checks/s of each key, one write/s
    expect(writes({ reserveEveryMs: 4000 }) / 4_000_000).toBeCloseTo(0.25, 3);
    expect(writes({ reserveEveryMs: 100 }) / 4_000_000).toBeCloseTo(1.25, 3);
    expect(writes({ durableFromMs: 60_001 })).toBe(0);
  });

  const hourly = { algorithm: 'sliding-log', limit: 10, window: 3_600_000 };

  it('windows that must be durable are written no more often than the limit lets anything pass', () => {
    const { etcd } = planned(asked({ checksPerSecond: 100_000, users: 10_000, policy: hourly }));
    expect(etcd.reservationsPerSecond).toBeCloseTo((10_000 * 10) / 3600, 6);
    const said = planned(asked({ checksPerSecond: 100_000, users: 10_000, policy: hourly, refusedRatio: 0 }));
    expect(said.etcd.reservationsPerSecond).toBeCloseTo((10_000 * 10) / 3600, 6);
    // One grant a second in all, of users who come once in eleven days.
    const seldom = planned(asked({ checksPerSecond: 1, users: 1_000_000, policy: hourly }));
    expect(seldom.etcd.reservationsPerSecond).toBeCloseTo(1, 6);
  });

  it('takes what is asked beyond the limit as refused, unless that is given', () => {
    const copies = (change: Partial<PlanQuestion>) => planned(asked(change)).network.copyBytesPerSecond;
    const policy = { ...someQuestion.policy, limit: 37.5 };
    expect(copies({ policy })).toBe(copies({ policy, refusedRatio: 0.5 }));
    expect(copies({ policy, refusedRatio: 0 })).toBeGreaterThan(copies({ policy }));
    expect(copies({})).toBe(copies({ refusedRatio: 0 }));
  });

  it('a long window without a copy goes on from etcd, and a shorter one waits', () => {
    const policy = { algorithm: 'sliding-slots', limit: 100_000, window: 86_400_000 };
    const daily = { checksPerSecond: 10_000, users: 20_000, policy };
    const durable = planned(asked(daily)).failover;
    expect(durable.isDurable).toBe(true);
    expect(durable.refusedWithout).toBeCloseTo(durable.shareOfTraffic * 10_000 * (durable.unservedMs / 1000), 3);
    const other = planned(asked({ ...daily, durableFromMs: 2 * 86_400_000 })).failover;
    expect([other.isDurable, other.withoutRatio]).toEqual([false, 1]);
    expect(other.refusedWithout).toBeGreaterThan(1000 * durable.refusedWithout);
    // Whoever uses up his limit loses what was reserved ahead for him.
    const tight = planned(asked({ checksPerSecond: 10_000, users: 20_000, policy: { ...policy, limit: 43_200 } }));
    expect(tight.failover.withoutRatio).toBeGreaterThan(0);
    expect(tight.failover.withoutRatio).toBeLessThan(0.001);
  });

  it('a copy refuses fewer after a crash than none, and the share refused in a year does not depend on the number of nodes', () => {
    const { failover } = planned(usual);
    expect(failover.refusedWithCopy).toBeLessThan(failover.refusedWithout);
    const more = planned(asked({ checksPerSecond: 20_000_000, users: 16_000_000 })).failover;
    expect(more.refusedRatioPerYearWithout).toBeCloseTo(failover.refusedRatioPerYearWithout, 12);
    expect(more.refusedRatioPerYearWithCopy).toBeCloseTo(failover.refusedRatioPerYearWithCopy, 12);
  });

  it.each([
    ['redis', 'a client that is sent elsewhere first', { movedRatio: 0.5 }],
    ['http', 'a client that asks any node', {}],
    ['grpc', 'a client that asks any node', {}],
  ] as const)('%s, %s, costs more than one that knows the owner', (client, _, change) => {
    const direct = planned(asked({ client: client === 'redis' ? 'redis' : 'smart', gatherMs: 0 }));
    const other = planned(asked({ client, gatherMs: gatherMsOf[client], ...change }));
    expect(nodesOf(other)).toBeGreaterThan(nodesOf(direct));
  });

  it('says why there is none', () => {
    expect(plan({ ...someQuestion, roundTripMs: 20 }, someFigures, someStore)).toMatch(
      /waits for nobody takes 21\.10 ms already .* more than the 10 ms asked for/,
    );
  });

  it('says so where one user alone is more than a node can do', () => {
    const alone = { ...someQuestion, checksPerSecond: 1_000_000, users: 1, latencyMs: 30 };
    const why = plan(alone, someFigures, someStore);
    expect(why).toMatch(/^A key lives on one node, which can do [\d,]+ checks\/s of it by these figures/);
    expect(why).toMatch(/Users: 1, with 1,000,000\/s each, and more nodes do not help\. Split the key .*\("leased"/);
  });

  it('of few users never gives a node less than one of them makes', () => {
    for (const users of [1, 2, 5, 40]) {
      const { size } = planned(asked({ users, checksPerSecond: 10_000 * users }));
      for (const node of [size.allUp, size.someLost]) expect(node.checksPerSecond).toBeGreaterThan(9_999);
    }
  });

  it('says so where no node would be left in a cluster, or where clusters would be too many', () => {
    const why = (change: Partial<PlanQuestion>) => plan({ ...someQuestion, ...change }, someFigures, someStore);
    expect(why({ nodesPerCluster: 1 })).toBe(
      'With --nodes-per-cluster 1 and --nodes-per-failure 1 a failure may leave no node of a cluster. Give more of the one, or less of the other.',
    );
    for (const change of [
      { nodesPerCluster: 10, checksPerSecond: 5e8 },
      { checksPerSecond: 2e10, users: 4e9 },
    ]) {
      const text = why(change);
      expect(text).toMatch(
        /^It would take [\d,]+ clusters of at most \d+ nodes, and a plan has at most 256\. Give more --nodes-/,
      );
      expect(text).not.toMatch(/quieter machine/);
    }
  });

  it('says what was measured where serving is too uneven for any number of nodes', () => {
    const { question, figures, store } = measured(({ atLoad }) => ({ atLoad: { ...atLoad, p99Ms: 9000 } }));
    expect(plan({ ...question, checksPerSecond: 5e8 }, figures, store)).toMatch(
      /took up to 9000\.0 ms here at a load of 70 %, with 0 % of the machine busy/,
    );
  });

  it('says where etcd cannot follow', () => {
    const etcd = {
      ownedReadUs: 0,
      ownedCheckUs: 0.8,
      transactionP50Ms: 1,
      transactionP99Ms: 5,
      transactionsPerSecond: 1000,
      recordsPerSecond: 1e6,
    };
    expect(planned(known({ etcd })).problems).toEqual([]);
    expect(planned(known({ etcd: { ...etcd, recordsPerSecond: 100 } })).problems).toEqual([
      expect.stringMatching(/^etcd would have to read [\d,]+ records per second, and read 100 here\./),
    ]);
    const { problems } = planned({ ...known({ etcd }), question: { ...someQuestion, durableFromMs: 60_000 } });
    expect(problems).toEqual([
      expect.stringMatching(/^A node would have [\d,]+ keys .* and takes 10,000 \(store\.durableKeys\)/),
      expect.stringMatching(/^etcd would have to do 4,000,\d\d\d writes per second, and did 1,000 here\.$/),
      expect.stringMatching(/^etcd would hold [\d.]+ GB, and takes 2\.1 GB/),
    ]);
  });

  it('is the same for the same question and figures, and never has fewer nodes for more checks', () => {
    const rate = fc.integer({ min: 1000, max: 20_000_000 });
    fc.assert(
      fc.property(rate, rate, (a, b) => {
        const [few, many] = [Math.min(a, b), Math.max(a, b)];
        const planFor = (checksPerSecond: number) => planned(asked({ checksPerSecond }));
        const [forFew, forMany] = [planFor(few), planFor(many)];
        expect(nodesOf(planFor(few))).toBe(nodesOf(forFew));
        // One cluster is taken where one is enough, though shards may come out more even in two, of fewer nodes in all.
        if (forFew.size.clusters === 1 && forMany.size.clusters > 1) return;
        // The ring is a bit uneven: one node more may make the fullest of a cluster fuller.
        expect(nodesOf(forMany)).toBeGreaterThanOrEqual(nodesOf(forFew) - 2 * forMany.size.clusters);
      }),
      { numRuns: 30, examples: [[12_906_937, 12_845_161]] },
    );
  });
});

it('tells what a read costs from what a check costs by the speeds at two depths', () => {
  const { perReadUs, perCheckUs } = readCostOf(someFigures.clients[0]!);
  expect(perCheckUs + perReadUs).toBeCloseTo(10, 9);
  expect(perCheckUs + perReadUs / 64).toBeCloseTo(2, 9);
  expect(readCostOf(someFigures.clients[2]!)).toEqual({ perReadUs: 0, perCheckUs: 20 });
});

it('finds the unevenness of serving that explains the p99 that was measured', () => {
  // 0.8 - 0.1 (late) - 0.1 (idle) = 0.6 ms of waiting, at 70 %, with 10 us each.
  const both = (2 * 0.6 * 0.3) / (0.01 * Math.log(70));
  expect(serviceVariability(someQuestion, someFigures)).toBeCloseTo(both, 9);
});
