/** The scenarios that come along: each says something about Sluice, and it is so. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { expectedFullest, oneQueueResponse, sharesAtRandom, sharesOfTwo } from '../balancing/theory.ts';
import { parseScenario } from './parse-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { measureUnits, seriesNames, textNames } from './vocabulary.ts';

const folder = new URL('../../scenarios/', import.meta.url);
const files = readdirSync(folder).sort();
const read = (file: string) => parse(readFileSync(new URL(file, folder), 'utf8'));

test('there are scenarios, and nothing else beside them', () => {
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((file) => !/^[a-z0-9-]+\.yaml$/.test(file))).toEqual([]);
});

describe('what a ready scenario claims is so', () => {
  test.each(files)('%s', async (file) => {
    const result = await runScenario(parseScenario(read(file)));
    expect(result.expectations.filter(({ isMet }) => !isMet)).toEqual([]);
    expect(result.expectations.length).toBeGreaterThan(1);
    expect(result.about.length).toBeGreaterThan(80);
    // Whatever is drawn or printed must be a number, and of the same length everywhere.
    for (const { measures, series } of result.variants) {
      expect(Object.values(measures).every(({ value }) => Number.isFinite(value))).toBe(true);
      expect(series.every(({ values }) => values.length === 100 && values.every(Number.isFinite))).toBe(true);
    }
  });
});

const bins = 'two-choices-keep-the-fullest-bin-small.yaml';

test.each([
  [bins, 'random-10.fullestMean', expectedFullest(sharesAtRandom(), 10)],
  [bins, 'random-100.fullestMean', expectedFullest(sharesAtRandom(), 100)],
  [bins, 'random-1000.fullestMean', expectedFullest(sharesAtRandom(), 1000)],
  [bins, 'two-choices-10.fullestMean', expectedFullest(sharesOfTwo(), 10)],
  [bins, 'two-choices-100.fullestMean', expectedFullest(sharesOfTwo(), 100)],
  [bins, 'two-choices-1000.fullestMean', expectedFullest(sharesOfTwo(), 1000)],
  ['response-times-are-those-of-theory.yaml', 'one-queue.responseMsMean', 100 * oneQueueResponse(0.8, 10)],
])('%s quotes what theory says of %s', (file, measure, expected) => {
  const claim: string = read(file).expect.find((each: string) => each.startsWith(`${measure} within`));
  expect(Number(claim.split(' of ')[1])).toBeCloseTo(expected, 2);
});

test('a claim that is turned round is not met', async () => {
  const data = read('fixed-window-passes-twice-its-limit-across-a-boundary.yaml');
  const turned = data.expect.map((claim: string) => claim.replace('==', '!='));
  const { expectations } = await runScenario(parseScenario({ ...data, expect: turned }));
  expect(expectations.map(({ isMet }) => isMet)).toEqual(turned.map(() => false));
});

test('the same scenario gives the same result, down to the last digit', async () => {
  const data = read('unhealthy-servers-leave-and-come-back-slowly.yaml');
  const [first, again] = [await runScenario(parseScenario(data)), await runScenario(parseScenario(data))];
  expect(JSON.stringify(again)).toBe(JSON.stringify(first));
  const other = await runScenario(parseScenario({ ...data, seed: 2 }));
  expect(JSON.stringify(other)).not.toBe(JSON.stringify(first));
});

test('the README names every word that a claim may use', () => {
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const words = [...Object.keys(measureUnits), ...seriesNames, ...textNames];
  expect(words.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
});

test('the example of the README is a scenario, and what it claims is so', async () => {
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const [, example] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const { expectations } = await runScenario(parseScenario(parse(example ?? '')));
  expect(expectations.map(({ isMet }) => isMet)).toEqual([true, true]);
});
