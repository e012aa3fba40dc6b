/** Admission as users meet it: the gateway in a process of its own, a real upstream, and more clients than fit. */
import { Agent, request as send } from 'node:http';
import { type GatewayProcess, startGateway, startUpstream, type UpstreamServer, waitUntil } from '@sluice/test-servers';
import { afterEach, expect, test } from 'vitest';

let upstream: UpstreamServer | undefined;
let gateway: GatewayProcess | undefined;
const agent = new Agent({ keepAlive: true });

afterEach(async () => {
  await gateway?.stop();
  await upstream?.stop();
});

async function start(admission: object): Promise<void> {
  upstream = await startUpstream('A');
  gateway = await startGateway({
    gateway: {
      admissions: { main: admission },
      routes: [{ name: 'all', admission: 'main' }],
      upstreams: { app: { members: [upstream.address] } },
    },
  });
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

function ask(headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = send(`${gateway!.url}/?sleepMs=10`, { agent, headers }, (response) => {
      response.resume();
      response.once('end', () =>
        resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'] }),
      );
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end();
  });
}

/** So many clients that ask one thing after another until they are told to end. */
function load(clients: number, headers: Readonly<Record<string, string>>) {
  const answers: Answer[] = [];
  let isOver = false;
  const loops = Array.from({ length: clients }, async () => {
    while (!isOver) answers.push(await ask(headers));
  });
  return {
    answers,
    async end(): Promise<void> {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

const answered = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 200).length;

test('two tenants with weights 3 and 1, each with ten times as many clients as fit, have 3 and 1 of the answers', async () => {
  const concurrency = 4;
  await start({
    concurrency,
    queue: 100,
    queueTimeout: '60s',
    tenant: 'header:x-tenant',
    weights: { gold: 3, free: 1 },
  });
  const gold = load(10 * concurrency, { 'x-tenant': 'gold' });
  const free = load(10 * concurrency, { 'x-tenant': 'free' });
  await waitUntil('both are at it', () => answered(gold.answers) > 20 && answered(free.answers) > 20);
  const before = [answered(gold.answers), answered(free.answers)] as const;
  await waitUntil('some hundreds were answered', () => answered(gold.answers) - before[0] >= 450, { everyMs: 1 });
  const ratio = (answered(gold.answers) - before[0]) / (answered(free.answers) - before[1]);
  await Promise.all([gold.end(), free.end()]);
  expect(ratio).toBeGreaterThan(3 * 0.8);
  expect(ratio).toBeLessThan(3 * 1.2);
});

test('while a flood of low priority is shed, each request of high priority is answered', async () => {
  await start({
    concurrency: 2,
    queue: 8,
    queueTimeout: '60s',
    ageing: '30s',
    priority: 'header:x-priority',
    priorities: { high: 0, low: 9 },
  });
  const flood = load(40, { 'x-priority': 'low' });
  await waitUntil('the flood is refused', () => flood.answers.some(({ status }) => status === 503));
  const urgent: Answer[] = [];
  for (let i = 0; i < 40; i += 1) urgent.push(await ask({ 'x-priority': 'high' }));
  await flood.end();
  expect(urgent.filter(({ status }) => status !== 200)).toEqual([]);
  const refused = flood.answers.filter(({ status }) => status !== 200);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  expect(refused.filter(({ retryAfter }) => !(Number(retryAfter) >= 1))).toEqual([]);
  const metrics = await (await fetch(`${gateway!.adminUrl}/metrics`)).text();
  const shed = /sluice_admission_refused_total\{admission="main",reason="shed"\} (\d+)/.exec(metrics)?.[1];
  expect(Number(shed)).toBeGreaterThan(0);
});
