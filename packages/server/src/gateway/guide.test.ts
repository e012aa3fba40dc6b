import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readConfig } from '../config/read-config.ts';

const page = readFileSync(new URL('../../../../docs/guides/gateway.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text);

// What stands on the disk of whoever reads it.
const notHere = /must be a file that can be read|its folder .* is not there/;

it.each(blocks)('the guide shows what can be configured: %s', (text) => {
  const read = readConfig({ text });
  const problems = 'problems' in read ? read.problems.map(({ path, message }) => `${path} ${message}`) : [];
  expect(problems.filter((problem) => !notHere.test(problem))).toEqual([]);
});

it('the guide has configurations', () => {
  expect(blocks.length).toBeGreaterThan(5);
});
