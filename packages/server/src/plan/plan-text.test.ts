import { expect, it } from 'vitest';
import { storeSchema } from '../config/store-schema.ts';
import { someFigures, someQuestion, someStore } from './plan.test-support.ts';
import { plan } from './plan.ts';
import { readPlanFigures } from './plan-figures.ts';
import { clients, gatherMsOf } from './plan-question.ts';
import { defaultMaxKeys } from './plan-settings.ts';
import { planSections, planText } from './plan-text.ts';
import { bytes, count, milliseconds, share } from './units.ts';

const planned = (change = {}) => {
  const found = plan({ ...someQuestion, ...change }, someFigures, someStore);
  if (typeof found === 'string') throw new Error(found);
  return found;
};

it.each(clients)('a plan for %s says where each figure comes from, and nothing that is no figure', (client) => {
  const found = planned({ client, gatherMs: gatherMsOf[client] });
  for (const { rows } of planSections(found, someFigures, someStore)) {
    for (const [, , origin] of rows) expect(['given', 'measured', 'computed']).toContain(origin);
  }
  const text = planText(found, someFigures, someStore);
  expect(text).not.toMatch(/NaN|undefined|Infinity|\[object/);
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(160);
});

it('the text has the nodes, the memory and what failures cost, with the steps', () => {
  const text = planText(planned(), someFigures, someStore);
  expect(text).toMatch(/^ {2}nodes +\d+ +computed {2}one cluster$/m);
  expect(text).toMatch(/^ {2}a core, 64 at once +500,000\/s +measured {2}2\.00 us of processor for a check$/m);
  expect(text).toMatch(/^ {2}p99 of a check +10 ms +given/m);
  expect(text).toMatch(/^ {2}refused in a year, with copies +[\d.e-]+ % +computed {2}this plan$/m);
  expect(text).toMatch(/^1\. {2}A check costs 1\.87 us and a read 8\.13 us/m);
});

it('what it costs to be a node is called measured where an etcd was at hand, and else given', () => {
  const etcd = {
    ownedReadUs: 0.5,
    ownedCheckUs: 0.8,
    transactionP50Ms: 1,
    transactionP99Ms: 5,
    transactionsPerSecond: 1000,
    recordsPerSecond: 1e6,
  };
  const figures = { ...someFigures, etcd };
  const found = plan(someQuestion, figures, someStore);
  if (typeof found === 'string') throw new Error(found);
  expect(planText(found, figures, someStore)).toMatch(
    /a node beyond a plain service +0\.80 us +measured +for a check, and 0\.50 us for a read/,
  );
  expect(planText(planned(), someFigures, someStore)).toMatch(
    /a node beyond a plain service +0\.80 us +given +for a check: 0\.70 x of its checks, reading aside; no etcd was at hand/,
  );
});

it('says with which limit checks were measured where it is not the one that is asked for', () => {
  const rowOf = (figures: typeof someFigures) =>
    /^ {2}checks of .*$/m.exec(planText(planned(), figures, someStore))?.[0];
  expect(rowOf(someFigures)).toBeUndefined();
  expect(rowOf({ ...someFigures, policy: { algorithm: 'gcra', limit: 5, window: 1000 } })).toMatch(
    /^ {2}checks of +5 per 1 s +measured {2}gcra, not the limit above$/,
  );
});

it('names the settings that the plan needs and nodes do not have by themselves', () => {
  const { properties } = storeSchema as unknown as { properties: Record<string, { default: unknown }> };
  expect([properties.maxKeys!.default, properties.durableKeys!.default]).toEqual([
    defaultMaxKeys,
    someQuestion.durableKeys,
  ]);
  const settings = (change = {}) =>
    Object.fromEntries(planned(change).settings.map(({ name, value }) => [name, value]));
  expect(settings({ users: 1000, checksPerSecond: 1000 })).toEqual({ 'store.shards': '1024' });
  const many = settings({ ttlMs: 20_000, graceMs: 50, unreplicated: 0, durableFromMs: 60_001, durableKeys: 5 });
  expect(many).toEqual({
    'store.shards': '1024',
    'store.maxKeys': expect.stringMatching(/^4\d{6}$/),
    'store.ttl': '20000ms',
    'store.grace': '50ms',
    'store.unreplicated': '0',
    'store.durableFrom': '60001ms',
    'store.durableKeys': '5',
  });
  expect(Number(many['store.maxKeys'])).toBeGreaterThan(4_000_000);
  expect(planText(planned(), someFigures, someStore)).toMatch(/^ {2}store\.shards +1024 +computed/m);
});

it('figures are read as they were written, and anything else is refused with the reason', () => {
  expect(readPlanFigures(JSON.stringify(someFigures))).toEqual(someFigures);
  expect(readPlanFigures(JSON.stringify({ kind: 'sluice-bench', plan: someFigures }))).toEqual(someFigures);
  const rows: [text: string, why: RegExp][] = [
    ['{', /^it is not JSON/],
    ['null', /^it was written neither by "sluice plan --save" nor by "sluice bench --json"$/],
    ['{"kind":"sluice-bench"}', /did not measure what a plan reads; write it again with "sluice bench --json"$/],
    ['{"kind":"sluice-bench","plan":{"kind":"sluice-plan","format":99}}', /^its format is 99/],
    ['{"kind":"sluice-plan","format":99}', /^its format is 99, and this version reads 2$/],
  ];
  for (const [text, why] of rows) expect(readPlanFigures(text)).toMatch(why);
});

it('figures that were damaged are refused with the field and the value', () => {
  const [smart, ...others] = someFigures.clients;
  const smartWith = (change: object) => ({ clients: [{ ...smart!, ...change }, ...others] });
  const rows: [change: object, why: string][] = [
    [{ idleRssBytes: undefined }, 'idleRssBytes must be a number above 0, got nothing'],
    [{ startMs: undefined }, 'startMs must be a number above 0, got nothing'],
    [{ machine: undefined }, 'machine must be an object, got nothing'],
    [{ date: 5 }, 'date must be a text, got 5'],
    [{ othersRatio: 2 }, 'othersRatio must be a number from 0 to 1, got 2'],
    [{ clients: [null] }, 'clients[0] must be an object, got null'],
    [{ clients: {} }, 'clients must be a list, got {}'],
    [{ stores: [{ ...someStore, bytesPerKey: -1 }] }, 'stores[0].bytesPerKey must be a number above 0, got -1'],
    [{ policy: { limit: 5 } }, 'policy.algorithm must be a text, got nothing'],
    [{ etcd: {} }, 'etcd.transactionP50Ms must be a number from 0 on, got nothing'],
    [smartWith({ atMost: [] }), 'clients[0].atMost must have an entry, got []'],
    [
      smartWith({ atMost: [{ ...smart!.atMost[0], processorUs: -37 }] }),
      'clients[0].atMost[0].processorUs must be a number above 0, got -37',
    ],
    [smartWith({ atLoad: undefined }), 'clients[0].atLoad must be an object, got nothing'],
    [
      smartWith({ atLoad: { ...smart!.atLoad, p99Ms: null } }),
      'clients[0].atLoad.p99Ms must be a number from 0 on, got null',
    ],
    [smartWith({ idleP50Ms: 'abc' }), 'clients[0].idleP50Ms must be a number from 0 on, got "abc"'],
  ];
  for (const [change, why] of rows) {
    expect(readPlanFigures(JSON.stringify({ ...someFigures, ...change }))).toBe(
      `${why}: what was measured is damaged; measure again, with "sluice plan --save" or "sluice bench --json"`,
    );
  }
});

it('figures are written as people read them', () => {
  expect([count(50e6), count(1.234), count(0)]).toEqual(['50,000,000', '1.2', '0']);
  expect([share(0.7), share(0.0000123), share(0)]).toEqual(['70 %', '0.0012 %', '0 %']);
  expect([milliseconds(0.5), milliseconds(60_000), milliseconds(15_520)]).toEqual(['0.5 ms', '1 min', '15.5 s']);
  expect([bytes(153), bytes(2333), bytes(1.8e12)]).toEqual(['153 bytes', '2.33 kB', '1.8 TB']);
});
