import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { envoyRulesOf, Reloads } from './reloads.ts';

let folder: string;
let said: [level: string, message: string, fields: object][];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reloads-'));
  mkdirSync(join(folder, 'limits'));
  said = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const say = (level: string) => (fields: object, message: string) => void said.push([level, message, fields]);
const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };

const write = (text: string) => writeFileSync(join(folder, 'limits', 'edge.yaml'), text);
const limit = (key: string, perHour: number) =>
  `  - { key: ${key}, rate_limit: { unit: hour, requests_per_unit: ${perHour} } }\n`;
const edge = (...limits: string[]) => `domain: edge\ndescriptors:\n${limits.join('')}`;

/** Of a service that was started with what the folder holds; or of somebody who reads it, and applies nothing of it. */
function reloadsOf(isApplied = true): Reloads {
  const path = join(folder, 'sluice.yaml');
  writeFileSync(path, 'envoy: { directory: limits }\n');
  const read = () => readConfig({ path });
  const first = read();
  if ('problems' in first) throw new Error(JSON.stringify(first.problems));
  const rules = isApplied ? envoyRulesOf(first.config.envoy) : undefined;
  return new Reloads({ ...first, readConfig: read, log }, () => undefined, rules);
}

it('says which limits of Envoy are others, and where a domain finds others', () => {
  write(edge(limit('path', 1), limit('user', 1), limit('ip', 1)));
  const reloads = reloadsOf();
  write(edge(limit('path', 2), limit('ip', 1), limit('agent', 1)));
  const changes = {
    added: ['envoy/edge|agent'],
    changed: ['envoy/edge', 'envoy/edge|path'],
    removed: ['envoy/edge|user'],
  };
  expect(reloads.reload()).toMatchObject({ isApplied: true, ...changes });
  expect(said).toEqual([['info', 'the configuration was read again', { ...changes, settings: [] }]]);

  // A descriptor without a limit is found instead of any other.
  write(edge(limit('path', 2), limit('ip', 1), limit('agent', 1), '  - { key: path, value: /free }\n'));
  expect(reloads.reload()).toMatchObject({ added: [], changed: ['envoy/edge'], removed: [] });
});

it('says nothing at info where nothing is another', () => {
  write(edge(limit('path', 1)));
  const reloads = reloadsOf();
  write(`# the same\n${edge(limit('path', 1))}`);
  expect(reloads.reload()).toMatchObject({ isApplied: true, added: [], changed: [], removed: [] });
  expect(said.map(([level]) => level)).toEqual(['debug']);
});

it('says that all is well again, also where nothing is another', () => {
  write(edge(limit('path', 1)));
  const reloads = reloadsOf();
  write('domain: [');
  expect(reloads.reload().isApplied).toBe(false);
  write(edge(limit('path', 1)));
  reloads.reload();
  reloads.reload();
  expect(said.map(([level, message]) => [level, message])).toEqual([
    ['error', 'the configuration is wrong; the old one stays in force'],
    ['info', 'the configuration was read again, and is right again'],
    ['debug', 'the configuration was read again'],
  ]);
});

it('keeps the old one where reading it fails in a way that nobody foresaw', () => {
  const { config, ...sources } = readConfig({ text: 'rules: []' }) as { config: Config; watched: readonly string[] };
  const readAgain = () => {
    throw new Error('the parser is lost');
  };
  const reloads = new Reloads({ ...sources, config, readConfig: readAgain, log }, () => undefined);
  expect(reloads.reload()).toMatchObject({ isApplied: false, problems: ['the parser is lost'] });
  expect(reloads.config).toBe(config);
  expect(reloads.numbers.failed).toBe(1);
});

it('names so many of them at most', () => {
  write(edge(limit('path', 1)));
  const reloads = reloadsOf();
  write(edge(...Array.from({ length: 1001 }, (_, i) => limit(`key${i}`, 1))));
  const { added } = reloads.reload();
  expect(added).toHaveLength(51);
  expect(added.at(-1)).toBe("and 951 more of Envoy's");
});

it('says nothing of limits that do not apply, as in a gateway', () => {
  write(edge(limit('path', 1)));
  const reloads = reloadsOf(false);
  write(edge(limit('path', 2)));
  expect(reloads.reload()).toMatchObject({ isApplied: true, added: [], changed: [], removed: [] });
  expect(said.map(([level]) => level)).toEqual(['debug']);
});
