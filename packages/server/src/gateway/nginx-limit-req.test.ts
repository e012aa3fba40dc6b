/**
 * The same arrivals through nginx' `limit_req` and through the gateway with the matching `leaky-bucket`: the same requests are admitted.
 * And those of a ready scenario: nginx admits as many of each burst as the simulation does.
 *
 * Both count by a clock of their own, and each request reaches them a moment apart. So arrivals are chosen that such a moment decides
 * nothing about (`marginMs`), and a run in which the machine stood still for longer says nothing and is repeated.
 */
import { readFileSync } from 'node:fs';
import { Agent, request as send } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseScenario, runScenario } from '@sluice/simulator';
import {
  type GatewayProcess,
  type NginxServer,
  startGateway,
  startNginx,
  startUpstream,
  type UpstreamServer,
} from '@sluice/test-servers';
import { type Duration, parseDuration } from 'sluice';
import { seededRandom } from 'sluice/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/** As nginx has it. */
interface NginxLimit {
  readonly name: string;
  readonly rate: string;
  readonly burst: number;
  /** After the burst. */
  readonly nginxDelay: string;
}

interface Limit extends NginxLimit {
  readonly perSecond: number;
  readonly delay: 'none' | 'all' | number;
}

// biome-ignore format: aligned rows
const limits: Limit[] = [
  { name: 'no-burst',  rate: '10r/s',  perSecond: 10, burst: 0, nginxDelay: '',        delay: 'all' },
  { name: 'nodelay',   rate: '6r/s',   perSecond: 6,  burst: 5, nginxDelay: 'nodelay', delay: 'none' },
  { name: 'minutes',   rate: '300r/m', perSecond: 5, burst: 3, nginxDelay: 'nodelay', delay: 'none' },
  { name: 'slower',    rate: '5r/s',   perSecond: 5, burst: 8, nginxDelay: 'nodelay', delay: 'none' },
  { name: 'delayed',   rate: '5r/s',   perSecond: 5, burst: 4, nginxDelay: '',        delay: 'all' },
  { name: 'two-stage', rate: '5r/s',   perSecond: 5, burst: 6, nginxDelay: 'delay=3', delay: 3 },
];

interface ScenarioData {
  readonly traffic: readonly { readonly count: number; readonly at: Duration }[];
  readonly compare: readonly {
    readonly name: string;
    readonly limit: number;
    readonly window: '1s' | '1m';
    readonly burst: number;
    readonly delay?: Limit['delay'];
  }[];
}

const file = new URL('../../../simulator/scenarios/leaky-bucket-admits-what-nginx-does.yaml', import.meta.url);
const scenario = parse(readFileSync(file, 'utf8')) as ScenarioData;
const nginxDelays = { all: '', none: 'nodelay' };
const simulated: NginxLimit[] = scenario.compare.map(({ name, limit, window, burst, delay = 'all' }) => ({
  name: `simulated-${name}`,
  rate: `${limit}r/${window.slice(1)}`,
  burst,
  nginxDelay: typeof delay === 'number' ? `delay=${delay}` : nginxDelays[delay],
}));

const arrivalCount = 30;
// At least so far apart, so that both see them in the same order.
const leastGapMs = 25;
const mostGapMs = 110;
const marginMs = 40;
// On a busy machine many runs say nothing: it is tried for as long as a few minutes take.
const mostRuns = 60;
const mostMs = 300_000;

let upstream: UpstreamServer;
let nginx: NginxServer;
let gateway: GatewayProcess;

beforeAll(async () => {
  upstream = await startUpstream('items');
  nginx = await startNginx(
    (port) => `
      ${[...limits, ...simulated].map(({ name, rate }) => `limit_req_zone $http_x_key zone=${name}:1m rate=${rate};`).join('\n')}
      server {
        listen 127.0.0.1:${port};
        keepalive_requests 100000;
        ${[...limits, ...simulated]
          .map(
            ({ name, burst, nginxDelay }) => `
            location = /${name} {
              limit_req zone=${name}${burst > 0 ? ` burst=${burst} ${nginxDelay}` : ''};
              limit_req_status 429;
              proxy_pass http://${upstream.address};
            }`,
          )
          .join('\n')}
      }`,
  );
  gateway = await startGateway({
    rules: limits.map(({ name, perSecond, burst, delay }) => ({
      name,
      key: 'client',
      match: { path: `/${name}` },
      algorithm: 'leaky-bucket',
      limit: perSecond,
      window: '1s',
      burst,
      delay,
    })),
    gateway: {
      identify: { client: 'header:x-key' },
      upstreams: { items: { members: [upstream.address] } },
    },
  });
});

afterAll(async () => {
  await gateway?.stop();
  await nginx?.stop();
  await upstream?.stop();
});

const agent = new Agent({ keepAlive: true, maxSockets: 500 });
afterAll(() => agent.destroy());

describe.concurrent.each(limits)('$name: rate $rate, burst $burst $nginxDelay', (limit) => {
  test.concurrent.each([1, 2, 3])('admits what nginx admits, arrivals %i', { timeout: mostMs }, async (seed) => {
    const arrivals = arrivalsFor(limit, seed);
    expect(arrivals.filter(({ isAdmitted }) => !isAdmitted).length).toBeGreaterThan(3);
    for (let run = 1; ; run += 1) {
      const key = `${limit.name}-${seed}-${run}`;
      const { ofNginx, ofGateway, isUndisturbed } = await sendAll(limit, arrivals, key);
      if (!isUndisturbed && run < mostRuns) continue;
      expect(isUndisturbed).toBe(true);
      expect(ofGateway).toEqual(ofNginx);
      expect(ofNginx).toEqual(arrivals.map(({ isAdmitted }) => isAdmitted));
      return;
    }
  });
});

// A burst takes its time to arrive. A quarter of a second earlier or later is the least that would change a number of the scenario.
// Not beside the other tests: a burst would keep their requests waiting.
const burstMarginMs = 200;

test('admits as many of each burst of the ready scenario as it does in the simulation', {
  timeout: mostMs,
}, async () => {
  const { variants, sliceMs, expectations } = await runScenario(parseScenario(scenario));
  expect(expectations.filter(({ isMet }) => !isMet)).toEqual([]);
  const burstsMs = scenario.traffic.map(({ at }) => (at === '0s' ? 0 : parseDuration(at, 'at')));
  const expected = variants.map(({ series }) => {
    const { values } = series.find(({ name }) => name === 'allowed')!;
    return burstsMs.map((atMs) => values[Math.floor(atMs / sliceMs)]);
  });
  for (let run = 1; ; run += 1) {
    const { admitted, isUndisturbed } = await sendBursts(burstsMs, `burst-${run}`);
    if (!isUndisturbed && run < mostRuns) continue;
    expect(isUndisturbed).toBe(true);
    expect(admitted).toEqual(expected);
    return;
  }
});

/** How many of each burst nginx admits, by limit. */
async function sendBursts(burstsMs: readonly number[], key: string) {
  const startMs = performance.now() + 50;
  let isUndisturbed = true;
  const ask = async ({ name, nginxDelay }: NginxLimit, dueMs: number): Promise<boolean> => {
    const { status, tookMs } = await get(`${nginx.url}/${name}`, key, dueMs);
    // Who is held back was decided before it was answered, and says nothing about when.
    if ((status === 429 || nginxDelay === 'nodelay') && tookMs > burstMarginMs) isUndisturbed = false;
    return status === 200;
  };
  const bursts: Promise<number[]>[] = [];
  for (const [i, atMs] of burstsMs.entries()) {
    const dueMs = startMs + atMs;
    await sleep(Math.max(0, dueMs - performance.now()));
    const { count } = scenario.traffic[i]!;
    const admitted = simulated.map(async (limit) => {
      const answers = await Promise.all(Array.from({ length: count }, () => ask(limit, dueMs)));
      return answers.filter((isAdmitted) => isAdmitted).length;
    });
    bursts.push(Promise.all(admitted));
  }
  const byBurst = await Promise.all(bursts);
  return { admitted: simulated.map((_, limit) => byBurst.map((counts) => counts[limit])), isUndisturbed };
}

interface Arrival {
  readonly atMs: number;
  readonly isAdmitted: boolean;
}

/** Arrivals for which a few milliseconds more or less change no decision, by the arithmetic of `limit_req`: a count that drains. */
function arrivalsFor({ perSecond, burst }: Limit, seed: number): Arrival[] {
  const random = seededRandom(seed);
  const arrivals: Arrival[] = [];
  let excess = 0;
  let atMs = 0;
  let latestMs: number | undefined;
  while (arrivals.length < arrivalCount) {
    atMs += leastGapMs + Math.round(random() * (mostGapMs - leastGapMs));
    const next = latestMs === undefined ? 0 : excess - ((atMs - latestMs) * perSecond) / 1000 + 1;
    const nearMs = (Math.abs(next - burst) * 1000) / perSecond;
    if (latestMs !== undefined && nearMs < marginMs) continue;
    const isAdmitted = next <= burst;
    if (isAdmitted) {
      excess = Math.max(0, next);
      latestMs = atMs;
    }
    arrivals.push({ atMs, isAdmitted });
  }
  return arrivals;
}

async function sendAll({ name, nginxDelay }: Limit, arrivals: readonly Arrival[], key: string) {
  const startMs = performance.now() + 50;
  let isUndisturbed = true;
  const ask = async (url: string) => {
    const sentMs = performance.now();
    const { status, tookMs } = await get(`${url}/${name}`, key, sentMs);
    // Refused, or admitted at once, it was also decided in the time it took; one that was held back says nothing about that.
    const isDecidedNow = status === 429 || nginxDelay === 'nodelay';
    if (isDecidedNow && tookMs >= marginMs / 2) isUndisturbed = false;
    return status === 200;
  };
  const answers: Promise<readonly boolean[]>[] = [];
  for (const { atMs } of arrivals) {
    await sleep(Math.max(0, startMs + atMs - performance.now()));
    const lateMs = performance.now() - startMs - atMs;
    if (lateMs > marginMs / 3) isUndisturbed = false;
    answers.push(Promise.all([ask(nginx.url), ask(gateway.url)]));
  }
  const all = await Promise.all(answers);
  return { ofNginx: all.map(([one]) => one), ofGateway: all.map(([, other]) => other), isUndisturbed };
}

/** `tookMs`: until its answer began, since then. */
function get(url: string, key: string, sinceMs: number): Promise<{ status: number; tookMs: number }> {
  return new Promise((resolve, reject) => {
    const request = send(url, { agent, headers: { 'x-key': key } }, (response) => {
      const tookMs = performance.now() - sinceMs;
      response.resume().once('end', () => resolve({ status: response.statusCode ?? 0, tookMs }));
    });
    request.once('error', reject);
    request.end();
  });
}
