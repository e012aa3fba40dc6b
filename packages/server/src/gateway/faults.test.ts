/** Members that are killed and stopped while requests are under way: what clients see of it, and what the gateway does about it. */
import { Agent, request as send } from 'node:http';
import { type GatewayProcess, startGateway, startUpstream, type UpstreamServer, waitUntil } from '@sluice/test-servers';
import { afterEach, expect, test } from 'vitest';

let members: UpstreamServer[] = [];
let gateway: GatewayProcess | undefined;
let loads: { end(): Promise<unknown> }[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 100 });

afterEach(async () => {
  // Those of a test that failed would go on asking for good.
  for (const one of loads) await one.end();
  loads = [];
  await gateway?.stop();
  for (const member of members) await member.stop();
  members = [];
});

async function start(upstream: object): Promise<void> {
  members = await Promise.all(['A', 'B', 'C'].map(startUpstream));
  gateway = await startGateway({
    gateway: {
      upstreams: {
        items: { members: members.map(({ address }) => address), balancer: 'round-robin', ...upstream },
      },
    },
  });
}

interface Answer {
  readonly status: number;
  readonly by: string;
}

function ask(method: 'GET' | 'POST', path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = send(`${gateway?.url}${path}`, { method, agent }, (response) => {
      response.resume();
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, by: String(response.headers['x-upstream'] ?? '') }),
      );
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(method === 'POST' ? 'something' : undefined);
  });
}

/** So many clients that ask one thing after another until they are told to end. */
function load(method: 'GET' | 'POST', clients: number, path = '/?sleepMs=5') {
  const answers: Answer[] = [];
  let isOver = false;
  const loops = Array.from({ length: clients }, async () => {
    while (!isOver) answers.push(await ask(method, path));
  });
  const run = {
    answers,
    async end(): Promise<Answer[]> {
      isOver = true;
      await Promise.all(loops);
      return answers;
    },
  };
  loads.push(run);
  return run;
}

const answered = (answers: readonly Answer[], by: string) => answers.filter((one) => one.by === by).length;
const failed = (answers: readonly Answer[]) => answers.filter(({ status }) => status !== 200);

/** How much of its weight a member gets: 0 while it is out, less than 1 while it warms up. */
async function shareOf({ address }: UpstreamServer): Promise<number> {
  const text = await (await fetch(`${gateway?.adminUrl}/metrics`)).text();
  const name = `sluice_upstream_member_share{upstream="items",member="${address}"} `;
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.slice(name.length),
  );
}

/** Quick to judge, but not so quick that a healthy member is given up because the machine is busy. */
const eager = {
  health: { path: '/requests', interval: '100ms', timeout: '1s', unhealthyAfter: 2, healthyAfter: 2 },
  outliers: { consecutiveFailures: 3, ejection: '1s', mostEjectedShare: 0.7 },
  timeouts: { connect: '1s', response: '2s' },
  // As many retries as requests: how few those are in the seconds that the budget looks at is up to the machine.
  retries: { attempts: 2, on: [502, 503, 504], budget: 1 },
  slowStart: '2s',
};

test('a member that is killed with requests under way costs those nothing that can be repeated, and comes back', async () => {
  await start(eager);
  const [a] = members as [UpstreamServer];
  const run = load('GET', 20);
  await waitUntil('all members answer', () => members.every(({ name }) => answered(run.answers, name) > 20));
  await a.end('SIGKILL');
  await waitUntil('it is out', async () => (await shareOf(a)) === 0);
  const before = run.answers.length;
  await waitUntil('the others go on', () => run.answers.length > before + 300);
  await a.restart();
  await waitUntil('it warms up', async () => 0 < (await shareOf(a)) && (await shareOf(a)) < 1);
  await waitUntil('it is back', async () => (await shareOf(a)) === 1);
  const back = run.answers.length;
  await waitUntil('it answers as before', () => answered(run.answers.slice(back), 'A') > 50);
  expect(failed(await run.end())).toEqual([]);
});

test('a member that stands still is left out, and what it had is answered by the others', async () => {
  await start(eager);
  const [, b] = members as [UpstreamServer, UpstreamServer];
  const run = load('GET', 20);
  await waitUntil('all members answer', () => members.every(({ name }) => answered(run.answers, name) > 20));
  await b.pause();
  await waitUntil('it is out', async () => (await shareOf(b)) === 0);
  // A busy machine may have made it seem late before: what it answered until it was paused has come by the first of these.
  const out = run.answers.length;
  await waitUntil('the others go on', () => run.answers.length > out + 300);
  expect(answered(run.answers.slice(out + 100), 'B')).toBe(0);
  b.resume();
  const back = run.answers.length;
  await waitUntil('it is back', () => answered(run.answers.slice(back), 'B') > 50);
  expect(failed(await run.end())).toEqual([]);
});

test('of requests that may not be repeated, only those that the dead member had are lost', async () => {
  await start(eager);
  const [a] = members as [UpstreamServer];
  const clients = 20;
  const run = load('POST', clients);
  await waitUntil('all members answer', () => members.every(({ name }) => answered(run.answers, name) > 20));
  await a.end('SIGKILL');
  const before = run.answers.length;
  await waitUntil('the others go on', () => run.answers.length > before + 500);
  const lost = failed(await run.end());
  expect(lost.length).toBeLessThanOrEqual(clients);
  expect(lost.every(({ status }) => status === 502)).toBe(true);
});

test('the breaker of a member that answers with errors opens, and closes when it answers well again', async () => {
  await start({
    breaker: { failureRatio: 0.5, minimumCalls: 5, window: '10s', open: '2s', halfOpenCalls: 2 },
    outliers: false,
    retries: { attempts: 0 },
  });
  // All three are open then: nobody is asked.
  await waitUntil('nobody is asked any more', async () => (await ask('GET', '/?status=503')).by === '');
  expect((await ask('GET', '/')).status).toBe(503);
  await waitUntil('they are asked again', async () => (await ask('GET', '/')).status === 200);
  await waitUntil('all are back', async () => {
    const names = new Set<string>();
    for (let i = 0; i < 12; i += 1) names.add((await ask('GET', '/')).by);
    return names.size === 3;
  });
});
