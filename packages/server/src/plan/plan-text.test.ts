import { expect, it } from 'vitest';
import { someFigures, someQuestion, someStore } from './plan.test-support.ts';
import { plan } from './plan.ts';
import { readPlanFigures } from './plan-figures.ts';
import { clients, gatherMsOf } from './plan-question.ts';
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

it('figures are read as they were written, and anything else is refused with the reason', () => {
  expect(readPlanFigures(JSON.stringify(someFigures))).toEqual(someFigures);
  const rows: [text: string, why: RegExp][] = [
    ['{', /^it is not JSON/],
    ['null', /^it was not written by "sluice plan --save"$/],
    ['{"kind":"sluice-bench"}', /^it was not written by "sluice plan --save"$/],
    ['{"kind":"sluice-plan","format":99}', /^its format is 99, and this version reads 2$/],
    ['{"kind":"sluice-plan","format":2}', /^a part is missing$/],
  ];
  for (const [text, why] of rows) expect(readPlanFigures(text)).toMatch(why);
});

it('figures are written as people read them', () => {
  expect([count(50e6), count(1.234), count(0)]).toEqual(['50,000,000', '1.2', '0']);
  expect([share(0.7), share(0.0000123), share(0)]).toEqual(['70 %', '0.0012 %', '0 %']);
  expect([milliseconds(0.5), milliseconds(60_000), milliseconds(15_520)]).toEqual(['0.5 ms', '1 min', '15.5 s']);
  expect([bytes(153), bytes(2333), bytes(1.8e12)]).toEqual(['153 bytes', '2.33 kB', '1.8 TB']);
});
