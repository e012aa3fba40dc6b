/** The service in this process, with one thread: its files, and what a reload changes. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@sluice/test-servers';
import { gcra } from 'sluice';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ReadConfigResult, readConfig } from '../config/read-config.ts';
import { serviceLog } from '../operations/log.ts';
import { type RunningService, startService } from './start-service.ts';

let folder: string;
let path: string;
const started: RunningService[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'start-service-'));
  path = join(folder, 'sluice.yaml');
});
afterEach(async () => {
  for (const service of started.splice(0)) await service.stop().catch(() => undefined);
  rmSync(folder, { recursive: true, force: true });
});

const base = `workers: 1
drain: 0
studio: false
listen: { http: 0, grpc: false, resp: false }
store: { type: memory, maxKeys: 20000 }
`;
const quiet = serviceLog({ level: 'silent', to: { write: () => undefined } });

function read(text: string): Extract<ReadConfigResult, { config: unknown }> {
  writeFileSync(path, base + text);
  const result = readConfig({ path });
  if ('problems' in result) throw new Error(result.problems.map(({ message }) => message).join('\n'));
  return result;
}

async function start(
  { config, watched, watchedContent }: ReturnType<typeof read>,
  log = quiet,
): Promise<RunningService> {
  const service = await startService({
    config,
    watched,
    watchedContent,
    readConfig: () => readConfig({ path }),
    log,
    onDeath(error) {
      throw error;
    },
  });
  started.push(service);
  return service;
}

const rule = (name: string) => `rules: [{ name: ${name}, algorithm: gcra, limit: 1, window: 1s }]\n`;
const rulesOf = async ({ service }: RunningService) => (await service.ruleData()).map(({ name }) => name);

describe('the state', () => {
  it('is saved as far as it can be, and the end says what could not be', async () => {
    const service = await start(read('snapshot: { path: state }\n'));
    const files = { state: join(folder, 'state'), throttle: join(folder, 'state.throttle') };
    // Nothing can be put in the place of a folder.
    mkdirSync(files.state);
    await expect(service.stop()).rejects.toThrow(`The state could not be saved: ${files.state}`);
    expect(readdirSync(folder).sort()).toEqual(['sluice.yaml', 'state', 'state.policies', 'state.throttle']);
  });

  it('is saved to the end while it is saved all the time, and comes back', async () => {
    const config = read('snapshot: { path: state, every: 1ms }\n');
    for (let run = 0; run < 5; run += 1) {
      const service = await start(config);
      await waitUntil('it was saved', () => existsSync(join(folder, 'state.throttle')));
      await service.stop();
      expect(readdirSync(folder).filter((name) => name.endsWith('.writing'))).toEqual([]);
    }
  });

  it('starts without what a killed process had begun to write', async () => {
    for (const name of ['state.999999999.writing', 'state.throttle.999999999.ab.writing']) {
      writeFileSync(join(folder, name), 'half');
    }
    await start(read('snapshot: { path: state }\n'));
    expect(readdirSync(folder)).toEqual(['sluice.yaml']);
  });
});

it('takes no more policies of requests after a restart than before', async () => {
  const config = read('snapshot: { path: state }\n');
  const policyOf = (limit: number) => gcra({ limit, window: '1d' });
  const before = await start(config);
  for (let limit = 1; limit <= 10_000; limit += 1) await before.service.checkPolicy(policyOf(limit), 'ann');
  await before.stop();
  const { service } = await start(config);
  expect(await service.checkPolicy(policyOf(2), 'ann')).toMatchObject({ allowed: true, remaining: 0 });
  expect(() => service.checkPolicy(policyOf(10_001), 'ann')).toThrow('There are 10000 different policies');
});

describe('the files of the configuration', () => {
  it('are those that were read: a change while it starts is applied', async () => {
    const config = read(rule('old'));
    writeFileSync(path, base + rule('new'));
    const service = await start(config);
    await waitUntil('the change is in force', async () => (await rulesOf(service)).includes('new'));
  });

  it('are others after a reload that names others', async () => {
    const service = await start(read(rule('one')));
    const tokens = join(folder, 'tokens');
    const limits = join(folder, 'limits');
    mkdirSync(limits);
    writeFileSync(tokens, 'first\n');
    writeFileSync(join(limits, 'edge.yaml'), 'domain: edge\n');
    read(`${rule('one')}security: { tokenFile: tokens }\nenvoy: { directory: limits }\n`);
    const { host, port } = service.listening.http!;
    const status = async (token: string) => {
      const response = await fetch(`http://${host}:${port}/v1/rules`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.arrayBuffer();
      return response.status;
    };
    await waitUntil('a token is asked for', async () => (await status('none')) === 401);
    expect(await status('first')).toBe(200);
    writeFileSync(tokens, 'second\n');
    await waitUntil('the new token is in force', async () => (await status('second')) === 200);
    writeFileSync(join(limits, 'edge.yaml'), edge);
    await waitUntil(
      'the new limit is in force',
      async () => (await askEdge(service)).statuses[0]?.currentLimit !== undefined,
    );
  });
});

it('follows the files of a configuration that does not apply yet', async () => {
  const service = await start(read(rule('one')));
  const limits = join(folder, 'limits');
  mkdirSync(limits);
  read(`${rule('two')}envoy: { directory: limits }\n`);
  // A folder without a file limits nothing, which nobody means.
  const refused = /^sluice_config_reloads_total\{result="failure"\} [1-9]/m;
  await waitUntil('it was refused', async () => refused.test(await service.service.metrics()));
  writeFileSync(join(limits, 'edge.yaml'), edge);
  await waitUntil('it applies', async () => (await rulesOf(service)).includes('two'));
});

const edge = 'domain: edge\ndescriptors: [{ key: path, rate_limit: { unit: hour, requests_per_unit: 9 } }]\n';

async function askEdge({ service }: RunningService) {
  return service.shouldRateLimit({
    domain: 'edge',
    descriptors: [{ entries: [{ key: 'path', value: '/' }], isNegativeHits: false }],
    hitsAddend: 1,
  });
}

it('tells Envoy to add headers as the latest configuration says', async () => {
  const limits = join(folder, 'limits');
  mkdirSync(limits);
  writeFileSync(join(limits, 'edge.yaml'), edge);
  const config = (isWanted: boolean) => read(`envoy: { directory: limits, responseHeaders: ${isWanted} }\n`);
  const service = await start(config(false));
  const headers = async () => (await askEdge(service)).responseHeadersToAdd.map(({ key }) => key);
  expect(await headers()).toEqual([]);
  config(true);
  expect(await service.service.reload()).toMatchObject({ isApplied: true, needsRestart: [] });
  expect(await headers()).toEqual(['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']);
  config(false);
  await service.service.reload();
  expect(await headers()).toEqual([]);
});

it.each(['750ms', '0.3ms', '1.5s', '1d'])('starts with a request time of %s', async (request) => {
  const { listening } = await start(read(`limits: { request: ${request} }\n`));
  expect(listening.http?.port).toBeGreaterThan(0);
});

it('is ready once every door is open, and not before', async () => {
  const { config, ...rest } = read('');
  const any = { host: '127.0.0.1', port: 0 };
  const readiness = async (port: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`);
    return [response.status, await response.text()];
  };
  const before: unknown[] = [];
  let first: Server | undefined;
  const { listen } = Server.prototype;
  // Each door after the first opens only when the first was asked.
  const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
    const open = () => void listen.apply(this, args as Parameters<typeof listen>);
    if (first !== undefined) {
      const { port } = first.address() as AddressInfo;
      void readiness(port)
        .catch(String)
        .then((said) => before.push(said))
        .then(open);
    } else {
      first = this;
      open();
    }
    return this;
  });
  onTestFinished(() => spy.mockRestore());
  const { listening } = await start({
    ...rest,
    config: { ...config, listen: { http: any, grpc: any, resp: any, admin: undefined } },
  });
  const starting = [503, expect.stringContaining('the service is starting')];
  expect(before).toEqual([starting, starting]);
  expect(await readiness(listening.http!.port)).toEqual([200, expect.anything()]);
});

it('says in the log and in its metrics that there is no room for newcomers', async () => {
  const said: string[] = [];
  const log = serviceLog({ level: 'warn', to: { write: (line: string) => void said.push(line) } });
  const { config, ...rest } = read('rules: [{ name: log, key: user, algorithm: sliding-log, limit: 5, window: 1h }]\n');
  const { service } = await start({ ...rest, config: { ...config, store: { type: 'memory', maxKeys: 16 } } }, log);
  for (let user = 0; user < 20; user += 1) await service.check({ user });
  expect(await service.metrics()).toMatch(/^sluice_store_errors_total 4$/m);
  await waitUntil('it is in the log', () => said.some((line) => line.includes('raise store.maxKeys')));
  expect(said.join('')).toContain('"refused":4');
});
