/** `sluice/client` against real doors: time, lost connections, moved slots, several owners. What is not known is never a grant. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type FaultProxy, startFaultProxy, waitUntil } from '@sluice/test-servers';
import { type Check, type Clock, type Duration, fixedWindow, gcra, monotonicClock, rules, slidingLog } from 'sluice';
import { type ClusterStore, type ClusterStoreOptions, clusterStore } from 'sluice/client';
import { rateLimit } from 'sluice/fetch';
import { degrade, layered } from 'sluice/layers';
import { TestClock } from 'sluice/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { keySlot } from '../resp/key-slot.ts';
import { makeCertificates } from '../service/certificates.test-support.ts';
import { openNode, openNodeBehind, openTwoNodes } from './client.test-support.ts';

const three = fixedWindow({ limit: 3, window: '1h', align: 'first' });
const checkOf = (key: string, more: Partial<Check> = {}): Check => ({
  name: 'test',
  key,
  policy: three,
  cost: 1,
  ...more,
});
const slotOf = (key: string) => keySlot(Buffer.from(key));

function connect(options: ClusterStoreOptions): ClusterStore {
  const client = clusterStore(options);
  onTestFinished(() => client.close());
  return client;
}

async function throughProxy(clock?: Clock, deadline: Duration = '10ms') {
  let proxy: FaultProxy | undefined;
  const node = await openNodeBehind(async (port) => {
    proxy = await startFaultProxy({ port });
    return `127.0.0.1:${proxy.port}`;
  });
  if (proxy === undefined) throw new Error('there is no proxy');
  const { stop } = proxy;
  onTestFinished(stop);
  const client = connect({ nodes: [`127.0.0.1:${proxy.port}`], deadline, ...(clock && { clock }) });
  return { node, proxy, client };
}

const inDoubt = { code: 'store-unavailable' };

/** A clock that is read and never wakes anybody: only answers are judged by it. */
function stoppedTimers(): Clock & { nowMs: number } {
  return {
    nowMs: 1000,
    now() {
      return this.nowMs;
    },
    sleep: () => new Promise(() => undefined),
  };
}

/** What was asked for in this turn has left by then. */
function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** How many are left, as the node's store has it. */
function left(node: Awaited<ReturnType<typeof openNode>>, key: string): number | undefined {
  return node.store.apply([checkOf(key, { operation: 'peek', cost: 0 })])[0]?.remaining;
}

describe('time', () => {
  it('drops an answer that comes after the deadline: the call has failed, and the grant is spent', async () => {
    const clock = new TestClock(0);
    const { node, proxy, client } = await throughProxy(clock);
    await client.apply([checkOf('a')]);
    proxy.dropReplies();
    const call = client.apply([checkOf('b')]);
    await waitUntil('the node has answered', () => node.asked.length === 2);
    clock.advance(10);
    await expect(call).rejects.toMatchObject(inDoubt);
    expect(client.stats()).toMatchObject({ timeouts: 1 });
    expect(left(node, 'b')).toBe(2);
  });

  it('counts a grant that comes too late', async () => {
    const clock = new TestClock(0);
    const { node, proxy, client } = await throughProxy(clock);
    await client.apply([checkOf('a')]);
    proxy.delayMs = 200;
    const call = client.apply([checkOf('b')]);
    await waitUntil('the node has answered', () => node.asked.length === 2);
    clock.advance(10);
    await expect(call).rejects.toMatchObject(inDoubt);
    await waitUntil('the answer has come', () => client.stats().lateGrants === 1);
    // What comes behind it is answered with its own answer.
    proxy.delayMs = 0;
    expect(await client.apply([checkOf('c', { cost: 2 })])).toMatchObject([{ allowed: true, remaining: 1 }]);
  });

  it('judges an answer at the moment it is handed out, whether or not a timer has noticed', async () => {
    const clock = stoppedTimers();
    const { node, proxy, client } = await throughProxy(clock);
    await client.apply([checkOf('a')]);
    proxy.delayMs = 100;
    const late = client.apply([checkOf('b')]);
    await waitUntil('the node has answered', () => node.asked.length === 2);
    clock.nowMs += 10.001;
    await expect(late).rejects.toMatchObject(inDoubt);
    expect(client.stats()).toMatchObject({ lateGrants: 1, timeouts: 1 });
    const inTime = client.apply([checkOf('b')]);
    await waitUntil('the node has answered again', () => node.asked.length === 3);
    clock.nowMs += 10;
    expect(await inTime).toMatchObject([{ allowed: true, remaining: 1 }]);
  });

  it('drops an answer that waited while the machine slept, though the monotonic clock stood still', async () => {
    const { node, proxy, client } = await throughProxy(undefined, '30s');
    await client.apply([checkOf('a')]);
    proxy.delayMs = 200;
    const call = client.apply([checkOf('b')]);
    await waitUntil('the node has answered', () => node.asked.length === 2);
    const wall = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => wall() + 60_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(call).rejects.toMatchObject(inDoubt);
    // On a busy machine the call may be given up before its answer is there, and what comes for it then is nobody's grant.
    const { timeouts, lateGrants } = client.stats();
    expect(timeouts).toBe(1);
    expect(lateGrants).toBeLessThanOrEqual(1);
    expect(await client.apply([checkOf('b')])).toMatchObject([{ allowed: true, remaining: 1 }]);
  });

  it('takes no time from the caller', async () => {
    const { address } = await openNode();
    const client = connect({ nodes: [address] });
    await expect(client.apply([checkOf('a')], 1000)).rejects.toMatchObject({
      code: 'invalid-option',
      message: 'atMs must be left out with a cluster, got 1000. Its nodes decide by their own time.',
    });
  });
});

describe('a lost connection', () => {
  it('sends again with the same id while there is time, and is charged once', async () => {
    const clock = stoppedTimers();
    const { node, proxy, client } = await throughProxy(clock);
    await client.apply([checkOf('a')]);
    proxy.dropReplies();
    const call = client.apply([checkOf('b')]);
    await waitUntil('the node has answered', () => node.asked.length === 2);
    clock.nowMs += 9;
    proxy.resume();
    expect(await call).toMatchObject([{ allowed: true, remaining: 2 }]);
    // The door knew the command again by its bytes, its id among them, and asked nobody.
    expect(node.asked).toHaveLength(2);
    expect(left(node, 'b')).toBe(2);
    expect(client.stats()).toMatchObject({ resent: 1, lostConnections: 1, lateGrants: 0 });
  });

  it('sends nothing again when the time is up', async () => {
    const clock = stoppedTimers();
    const { node, proxy, client } = await throughProxy(clock);
    await client.apply([checkOf('a')]);
    proxy.dropReplies();
    const call = client.apply([checkOf('b')]);
    await waitUntil('the node has answered', () => node.asked.length === 2);
    clock.nowMs += 11;
    proxy.resume();
    await expect(call).rejects.toMatchObject(inDoubt);
    await client.apply([checkOf('c')]);
    expect(node.asked.map(({ checks }) => checks[0]?.key)).toEqual(['a', 'b', 'c']);
    expect(client.stats()).toMatchObject({ resent: 0 });
  });

  it('fails what was not sent when the node cannot be reached, and finds it again', async () => {
    const node = await openNode();
    const proxy = await startFaultProxy({ port: node.port });
    const client = connect({ nodes: [`127.0.0.1:${proxy.port}`], deadline: '10s' });
    await proxy.stop();
    await expect(client.apply([checkOf('a')])).rejects.toMatchObject(inDoubt);
    await node.close();
    await expect(client.apply([checkOf('a')])).rejects.toMatchObject(inDoubt);
    expect(client.stats()).toMatchObject({ pending: 0, connections: 0 });
  });

  it('finds the cluster by any seed that answers', async () => {
    const { address } = await openNode();
    const gone = await openNode();
    await gone.close();
    const client = connect({ nodes: [gone.address, address], deadline: '10s' });
    expect(await client.apply([checkOf('a')])).toMatchObject([{ allowed: true }]);
  });

  it('takes no more calls than may be on their way to a node', async () => {
    const { node, proxy } = await throughProxy();
    const client = connect({ nodes: [`127.0.0.1:${proxy.port}`], deadline: '1h', maxPending: 3 });
    await client.apply([checkOf('a')]);
    proxy.blackhole();
    const calls = ['b', 'c', 'd'].map((key) => client.apply([checkOf(key)]));
    await expect(client.apply([checkOf('e')])).rejects.toMatchObject(inDoubt);
    proxy.resume();
    expect((await Promise.all(calls)).flat().map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(node.asked).toHaveLength(4);
  });

  it('gives a connection up that answers nothing, and opens another', async () => {
    const clock = new TestClock(0);
    const { node, proxy, client } = await throughProxy(clock);
    await client.apply([checkOf('a')]);
    proxy.blackhole();
    const call = client.apply([checkOf('b')]);
    await turnOfTheLoop();
    clock.advance(10);
    await expect(call).rejects.toMatchObject(inDoubt);
    expect(client.stats()).toMatchObject({ timeouts: 1, lostConnections: 0 });
    // It looks at the time again when the connection is due.
    await waitUntil('it waits for the connection', () => clock.sleeping > 0);
    clock.advance(1000);
    await waitUntil('the connection is given up', () => client.stats().lostConnections === 1);
    proxy.resume();
    await waitUntil('another is open', async () => {
      const [decision] = await client.apply([checkOf('c', { cost: 0 })]);
      return decision?.allowed === true;
    });
    expect(node.asked.length).toBeGreaterThan(1);
  });

  it('does not wait for ever for a connection', async () => {
    const clock = new TestClock(0);
    // It accepts the connection and never says a word, not to the token either.
    const mute = createServer().listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => void mute.close());
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const client = connect({ nodes: [`127.0.0.1:${port}`], token: 'hello', clock, connectTimeout: '2s' });
    const call = client.apply([checkOf('a')]);
    await waitUntil('it is connecting', () => clock.sleeping > 0);
    clock.advance(1999);
    expect(client.stats()).toMatchObject({ lostConnections: 0, pending: 2 });
    clock.advance(1);
    await expect(call).rejects.toThrow('could not be connected to within 2000 ms');
  });

  it('fails everything that is under way when it is closed', async () => {
    const { proxy, client } = await throughProxy(stoppedTimers());
    await client.apply([checkOf('a')]);
    proxy.blackhole();
    const call = client.apply([checkOf('b')]);
    await client.close();
    await expect(call).rejects.toMatchObject(inDoubt);
    await expect(client.apply([checkOf('c')])).rejects.toMatchObject(inDoubt);
  });
});

describe('an id of the caller', () => {
  it('gets its first answer again, while that is not too old, and is charged once', async () => {
    const clock = stoppedTimers();
    const { address, store: counted } = await openNode();
    const client = connect({ nodes: [address], deadline: '10ms', clock });
    const first = await client.apply([checkOf('a')], undefined, 'mine');
    clock.nowMs += 10;
    expect(await client.apply([checkOf('a')], undefined, 'mine')).toEqual(first);
    expect(counted.apply([checkOf('a', { operation: 'peek', cost: 0 })])).toMatchObject([{ remaining: 2 }]);
    clock.nowMs += 1;
    await expect(client.apply([checkOf('a')], undefined, 'mine')).rejects.toMatchObject(inDoubt);
    expect(await client.apply([checkOf('a')], undefined, 'another')).toMatchObject([{ remaining: 1 }]);
  });

  it('about something else is another request', async () => {
    const { address } = await openNode();
    const client = connect({ nodes: [address], deadline: '1h' });
    await client.apply([checkOf('a')], undefined, 'mine');
    expect(await client.apply([checkOf('a', { cost: 2 })], undefined, 'mine')).toMatchObject([{ remaining: 0 }]);
  });
});

describe('owners', () => {
  it('follows MOVED with the same id, and learns where everything is', async () => {
    const { nodes, own } = await openTwoNodes();
    const client = connect({ nodes: [nodes[0].address], deadline: '10s' });
    await client.apply([checkOf('a')]);
    own(slotOf('a'), 1);
    expect(await client.apply([checkOf('a')])).toMatchObject([{ allowed: true, remaining: 2 }]);
    expect(client.stats()).toMatchObject({ moved: 1, resent: 1 });
    await waitUntil('the map is known anew', () => client.stats().refreshes === 2);
    await client.apply([checkOf('a')]);
    expect(client.stats()).toMatchObject({ moved: 1, connections: 2 });
    expect(nodes[1].asked).toHaveLength(2);
  });

  it('gives up on nodes that send it round in a circle', async () => {
    const { nodes, own, confuse } = await openTwoNodes();
    const client = connect({ nodes: [nodes[0].address], deadline: '10s' });
    await client.apply([checkOf('a')]);
    own(slotOf('a'), 1, false);
    confuse();
    await expect(client.apply([checkOf('a')])).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('again and again'),
    });
    expect(nodes[1].asked).toEqual([]);
  });

  it('is in doubt when nobody owns a slot, and when the node says so', async () => {
    const { nodes, own } = await openTwoNodes();
    const client = connect({ nodes: [nodes[0].address], deadline: '10s' });
    own(slotOf('a'), -1, false);
    await expect(client.apply([checkOf('a')])).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('CLUSTERDOWN'),
    });
    own(slotOf('b'), -1);
    const later = connect({ nodes: [nodes[1].address], deadline: '10s' });
    await expect(later.apply([checkOf('b')])).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('Nobody owns the slot'),
    });
    own(slotOf('b'), 0);
    await waitUntil('the slot is known to have an owner', async () => {
      const [decision] = await later.apply([checkOf('b')]);
      return decision?.allowed === true;
    });
  });

  it('asks others who owns a slot when its owner is not sure, and has not heard that it is none', async () => {
    const { nodes, own, cutOffFirst } = await openTwoNodes();
    own(slotOf('b'), 1);
    const clock = stoppedTimers();
    const client = connect({ nodes: [nodes[0].address], deadline: '10s', clock });
    await client.apply([checkOf('a')]);
    cutOffFirst();
    own(slotOf('a'), 1);
    clock.nowMs += 999;
    await expect(client.apply([checkOf('a')])).rejects.toMatchObject(inDoubt);
    expect(client.stats()).toMatchObject({ refreshes: 1 });
    clock.nowMs += 1;
    await expect(client.apply([checkOf('a')])).rejects.toMatchObject(inDoubt);
    await waitUntil('the map is known anew', () => client.stats().refreshes === 2);
    expect(await client.apply([checkOf('a')])).toMatchObject([{ allowed: true }]);
    expect(nodes[1].asked).toHaveLength(1);
  });

  it('asks an owner of many slots once for a whole batch', async () => {
    const { nodes } = await openTwoNodes();
    const client = connect({ nodes: [nodes[0].address], deadline: '10s' });
    const decisions = await client.apply([checkOf('a'), checkOf('b', { cost: 2 }), checkOf('c', { name: 'other' })]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 2]);
    expect(nodes[0].asked).toHaveLength(1);
  });

  it('charges none of the owners when one refuses', async () => {
    const { nodes, own } = await openTwoNodes();
    own(slotOf('b'), 1);
    const client = connect({ nodes: [nodes[0].address], deadline: '10s' });
    const both = [checkOf('a'), checkOf('b')];
    await client.apply([checkOf('b', { cost: 2 })]);
    expect(await client.apply(both)).toMatchObject([{ allowed: true, remaining: 2 }, { remaining: 0 }]);
    const [first, second] = await client.apply(both);
    expect(first).toMatchObject({ allowed: true, remaining: 2 });
    expect(second).toMatchObject({ allowed: false, reason: 'limit' });
    expect(left(nodes[0], 'a')).toBe(2);
    expect(first).not.toHaveProperty('receipt');
  });

  it('splits a batch whose owners have parted, and charges it once', async () => {
    const { nodes, own } = await openTwoNodes();
    const client = connect({ nodes: [nodes[0].address], deadline: '10s' });
    await client.apply([checkOf('warm')]);
    own(slotOf('b'), 1);
    expect(await client.apply([checkOf('a'), checkOf('b')])).toMatchObject([{ remaining: 2 }, { remaining: 2 }]);
    expect([left(nodes[0], 'a'), left(nodes[0], 'b'), left(nodes[1], 'b')]).toEqual([2, 3, 2]);
  });

  it('drops grants of several owners that together took too long', async () => {
    const clock = stoppedTimers();
    const { nodes, own } = await openTwoNodes();
    own(slotOf('b'), 1);
    const client = connect({ nodes: [nodes[0].address], deadline: '10ms', clock });
    await Promise.all([client.apply([checkOf('a')]), client.apply([checkOf('b')])]);
    const call = client.apply([checkOf('a'), checkOf('b')]);
    // After both were sent, and before anything can be answered.
    await turnOfTheLoop();
    clock.nowMs += 11;
    await expect(call).rejects.toMatchObject(inDoubt);
    expect(client.stats().lateGrants).toBeGreaterThan(0);
  });
});

describe('who may ask', () => {
  it('shows its token, and says which node refused it', async () => {
    const { address } = await openNode({ tokens: ['open sesame'] });
    const friend = connect({ nodes: [address], token: 'open sesame', deadline: '10s' });
    expect(await friend.apply([checkOf('a')])).toMatchObject([{ allowed: true }]);
    for (const options of [{ token: 'guess' }, {}]) {
      await expect(connect({ nodes: [address], ...options }).apply([checkOf('a')])).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringMatching(/WRONGPASS|NOAUTH/),
      });
    }
  });

  it('speaks TLS to nodes whose certificate it trusts', async () => {
    const { ca, server } = await makeCertificates();
    const { address } = await openNode({ tls: { ...server, ca: undefined } });
    const trusting = connect({ nodes: [address], tls: { ca }, deadline: '10s' });
    expect(await trusting.apply([checkOf('a')])).toMatchObject([{ allowed: true }]);
    await expect(connect({ nodes: [address], tls: true }).apply([checkOf('a')])).rejects.toMatchObject(inDoubt);
  });
});

describe('what the service makes of it', () => {
  it('shares the keys of a configured rule by its name, and counts the others together', async () => {
    const node = await openNode({ rules: '[{ name: per-user, key: user, algorithm: gcra, limit: 10, window: 1m }]' });
    const client = connect({ nodes: [node.address], deadline: '10s' });
    const policy = gcra({ limit: 10, window: '1m' });
    await client.apply([checkOf('ann', { name: 'per-user', policy, cost: 10 })]);
    await client.apply([checkOf('ann', { name: 'per-user', policy })]);
    await client.apply([checkOf('ann', { name: 'envoy' })]);
    const { names, counts } = node.checks.read();
    const of = (name: string) => counts.slice(names.indexOf(name) * 4, names.indexOf(name) * 4 + 2);
    expect({ own: of('per-user'), adHoc: of('ad-hoc'), envoy: of('envoy') }).toEqual({
      own: [1, 1],
      adHoc: [1, 0],
      envoy: [0, 0],
    });
  });
});

describe('everything over a store', () => {
  it('is used by rules with one changed line', async () => {
    const { nodes, own } = await openTwoNodes();
    own(slotOf('ann'), 1);
    const store = connect({ nodes: [nodes[0].address], deadline: '10s' });
    const guard = rules(
      [
        { name: 'per-user', key: 'user', policy: slidingLog({ limit: 2, window: '1h' }) },
        { name: 'all', policy: gcra({ limit: 100, window: '1h' }) },
      ],
      { store },
    );
    const answers = [];
    for (let i = 0; i < 3; i += 1) answers.push(await guard.check({ user: 'ann' }));
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(answers[2]?.tightest).toMatchObject({ rule: 'per-user', allowed: false });
  });

  it('is used by middleware with one changed line', async () => {
    const { address } = await openNode();
    const store = connect({ nodes: [address], deadline: '10s' });
    const limit = rateLimit({ policy: three, store, key: () => 'all' });
    const handler = limit(() => new Response('hello'));
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await handler(new Request('http://localhost/'))).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it('leaves it to degrade what becomes of a doubt', async () => {
    const node = await openNode();
    await node.close();
    const store = layered(connect({ nodes: [node.address] }), degrade({ after: '5s', to: 'closed' }));
    expect(await store.apply([checkOf('a')])).toMatchObject([{ allowed: false, degraded: 'closed' }]);
  });

  it('sleeps by its clock', () => {
    expect(clusterStore({ nodes: ['127.0.0.1:1'] }).clock).toBe(monotonicClock);
  });
});
