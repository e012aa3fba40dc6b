/**
 * Redis decides as memory does: every ready scenario that has a limit gives the same result in both, byte for byte.
 *
 * Each call is a question to Redis, and some scenarios have hundreds of thousands of them: those end earlier here, in both (`shorter`). With
 * `sluice simulate --all --redis` they run in full.
 */
import { readFileSync } from 'node:fs';
import { parseScenario, runScenario, type Scenario } from '@sluice/simulator';
import { type RedisServer, startRedis } from '@sluice/test-servers';
import { Redis } from 'ioredis';
import { type Duration, parseDuration } from 'sluice';
import { redisStore } from 'sluice/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readYaml } from '../config/yaml-source.ts';
import { readyFolder, readyScenarios } from './ready-scenarios.ts';

const shorter: Readonly<Record<string, Duration>> = {
  'a-day-of-traffic-refuses-at-its-peak-only': '2h',
  'a-refusal-takes-nothing-from-the-other-limits': '10s',
  'an-attacker-does-not-hurt-the-others': '18s',
  'gcra-decides-as-the-token-bucket-does': '1m',
  'how-far-estimates-are-from-the-exact-log': '30s',
  'poisson-drop-share-tends-to-1-minus-r-over-lambda': '5s',
  'sliding-log-with-fractions-only-refuses-more': '4s',
  'strict-algorithms-never-pass-more-than-their-limit': '75s',
  'two-choices-keep-the-fullest-bin-small': '2s',
};

interface Data {
  readonly duration: Duration;
  readonly traffic: readonly { readonly until?: Duration }[];
}

/** What goes on for longer than it does, goes on to its end. */
function cut(data: Data, duration: Duration): Data {
  const traffic = data.traffic.map(({ until, ...shape }) =>
    until === undefined || parseDuration(until, 'until') > parseDuration(duration, 'duration')
      ? shape
      : { ...shape, until },
  );
  return { ...data, duration, traffic };
}

function read(name: string, file: string): Scenario {
  const data = readYaml(readFileSync(file, 'utf8')).data as Data;
  const duration = shorter[name];
  return parseScenario(duration === undefined ? data : cut(data, duration));
}

const scenarios = readyScenarios(readyFolder())
  .map(({ name, file }) => ({ name, scenario: read(name, file) }))
  .filter(({ scenario }) => scenario.variants.some(({ stages }) => stages.limit !== undefined));

let server: RedisServer;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host, { autoResendUnfulfilledCommands: false });
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

describe('a ready scenario in Redis gives what it gives in memory', () => {
  let refused = 0;

  it.each(scenarios)('$name', async ({ name, scenario }) => {
    const inMemory = await runScenario(scenario);
    // A store of its own: a store keeps what the longest window needs that it has seen under a name.
    const inRedis = await runScenario(scenario, { store: redisStore({ client, prefix: `${name}:` }) });
    expect(JSON.stringify(inRedis)).toBe(JSON.stringify(inMemory));
    // It was decided there.
    expect((await client.keys(`${name}:*`)).length).toBeGreaterThan(0);
    for (const { measures } of inRedis.variants) refused += measures.refused?.value ?? 0;
  });

  it('and there was something to decide', () => {
    expect(scenarios.length).toBeGreaterThan(30);
    expect(refused).toBeGreaterThan(10_000);
  });

  it('what ends earlier here is there', () => {
    const names = scenarios.map(({ name }) => name);
    expect(Object.keys(shorter).filter((name) => !names.includes(name))).toEqual([]);
  });
});
