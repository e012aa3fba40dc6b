import * as sluice from 'sluice';
import { readConfig } from 'sluice-server';
import { expect, test } from 'vitest';
import { algorithmNames, policyOf } from './algorithms.ts';
import { defaultSettings, type Settings } from './settings.ts';
import { policyExpression, typescriptOf, yamlOf } from './source-code.ts';

const settings: Settings = { ...defaultSettings, limit: 12, windowMs: 2500, burst: 4, maxDelayMs: 60_000, holdMs: 700 };

test.each(algorithmNames)('the TypeScript of %s runs, and makes the policy that is shown', (name) => {
  const [imports, ...body] = typescriptOf(name, settings).split('\n');
  const names = /^import \{ (.*) \} from 'sluice';$/.exec(imports!)![1]!.split(', ');
  const run = new Function(...names, `${body.join('\n')}\nreturn limit.policy;`);
  const library = new Map<string, unknown>(Object.entries(sluice));
  const policy = run(...names.map((imported) => library.get(imported)));
  expect(policy).toEqual(policyOf(name, settings));
});

test.each(algorithmNames)(
  'the YAML of %s is a configuration that the service takes, with the policy that is shown',
  (name) => {
    const read = readConfig({ text: yamlOf(name, settings) });
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    expect(JSON.stringify(read.config)).toContain(JSON.stringify(policyOf(name, settings)));
  },
);

test('a policy is written as one would write it', () => {
  expect(policyExpression('gcra', defaultSettings)).toBe("gcra({ limit: 10, window: '10s', burst: 5 })");
});
