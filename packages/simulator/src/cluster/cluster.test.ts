import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as imported from 'sluice-server/cluster';
import { describe, expect, test } from 'vitest';
import * as served from '../../../server/src/cluster/cluster-node.ts';
import { themeNames } from './faults.ts';
import { history } from './history.ts';

describe('one seed is one history', () => {
  test.each(themeNames.map((theme, seed) => [theme, seed] as const))('of %s', async (_, seed) => {
    const [first, second] = [await history(seed), await history(seed)];
    expect(second.hash).toBe(first.hash);
    expect(second.timeline()).toBe(first.timeline());
    expect((await history(seed + themeNames.length)).hash).not.toBe(first.hash);
  });
});

describe('what is simulated is what is served', () => {
  const simulator = fileURLToPath(new URL('..', import.meta.url));
  const cluster = fileURLToPath(new URL('../../../server/src/cluster', import.meta.url));
  const server = fileURLToPath(new URL('../../../server/src', import.meta.url));
  const sourcesOf = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/\.(test|test-support|bench)\.ts$/.test(file))
      .map((file) => join(folder, file));
  const declared = /^export (?:declare )?(?:abstract )?(?:class|function|const) (\w+)/gm;
  const namesIn = (file: string) => [...readFileSync(file, 'utf8').matchAll(declared)].map(([, name]) => name!);

  test('the node of the simulation is the very class of the server', () => {
    expect(imported.ClusterNode).toBe(served.ClusterNode);
  });

  test('no class of the cluster is declared a second time, in the simulator or in the server', () => {
    const classes = /^export class (\w+)/gm;
    const own = sourcesOf(cluster).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(classes)].map(([, name]) => name!),
    );
    expect(own).toContain('ClusterNode');
    const elsewhere = [...sourcesOf(simulator), ...sourcesOf(server).filter((file) => !file.startsWith(cluster))];
    expect(elsewhere.flatMap((file) => namesIn(file)).filter((name) => own.includes(name))).toEqual([]);
  });

  test('the simulator takes the cluster from the server, and from nowhere else', () => {
    const imports = sourcesOf(join(simulator, 'cluster')).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g)].map(([, specifier]) => specifier!),
    );
    const foreign = imports.filter((specifier) => !/^(\.\.?\/[\w./-]+|node:\w+|sluice(\/\w+)?)$/.test(specifier));
    expect(new Set(foreign)).toEqual(new Set(['sluice-server/cluster']));
  });

  test('the service runs that class', () => {
    const users = sourcesOf(server).filter((file) => /new ClusterNode\(/.test(readFileSync(file, 'utf8')));
    expect(users.length).toBeGreaterThan(0);
  });
});
