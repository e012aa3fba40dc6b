import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readConfig } from '../config/read-config.ts';
import { metricCatalogue } from '../operations/metric-catalogue.ts';
import { allFences } from './fences.ts';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const guide = read('docs/guides/across-machines.md');
const blocks = [...guide.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text);

// What stands on the disk of whoever reads it.
const notHere = /must be a file that can be read|its folder .* is not there|which cannot be read: it does not exist/;

it.each(blocks.filter((text) => text.includes('store:')))('the guide shows what can be configured: %s', (text) => {
  // Nodes listen where others reach them; the page says so by variables.
  const environment = { SLUICE_LISTEN_HOST: '10.0.0.1' };
  const result = readConfig({ text, environment });
  const problems = 'problems' in result ? result.problems.map(({ path, message }) => `${path} ${message}`) : [];
  expect(problems.filter((problem) => !notHere.test(problem))).toEqual([]);
});

it('the guide has configurations, and names metrics that there are', () => {
  expect(blocks.length).toBeGreaterThan(3);
  const named = [...guide.matchAll(/`(sluice_\w+)`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !Object.hasOwn(metricCatalogue, name))).toEqual([]);
});

it('the page of this folder has every fence, in the words of the code', () => {
  const page = read('packages/server/src/cluster/README.md');
  const source = read('packages/server/src/cluster/fences.ts');
  const said = [...source.matchAll(/\/\*\* (.*) \*\/\n\s+readonly (\w+): boolean/g)].map(([, words, name]) => [
    name,
    words,
  ]);
  expect(said.map(([name]) => name)).toEqual(Object.keys(allFences));
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, name, words]) => [name, words]);
  expect(rows).toEqual(said);
});
