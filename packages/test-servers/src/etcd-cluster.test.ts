import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type EtcdCluster, startEtcd } from './etcd-cluster.ts';
import type { EtcdMember } from './etcd-member.ts';
import { type EtcdProxies, startEtcdProxies } from './etcd-proxies.ts';
import { waitUntil } from './wait-until.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

async function put(member: EtcdMember, key: string, value: string): Promise<void> {
  await member.call('/v3/kv/put', { key: base64(key), value: base64(value) });
}

async function get(member: EtcdMember, key: string): Promise<string | undefined> {
  const { kvs } = await member.call<{ kvs?: { value: string }[] }>('/v3/kv/range', { key: base64(key) });
  return kvs?.[0] && Buffer.from(kvs[0].value, 'base64').toString();
}

describe('three members', () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  afterEach(async () => {
    for (const member of etcd.members) {
      if (member.state === 'paused') member.resume();
      if (member.state === 'ended') await member.start();
    }
    await etcd.waitUntilHealthy();
  });

  test('hold one truth, on ports of their own', async () => {
    expect(new Set(etcd.endpoints).size).toBe(3);
    await put(etcd.members[0]!, 'greeting', 'good morning ☀');
    for (const member of etcd.members) expect(await get(member, 'greeting')).toBe('good morning ☀');
  });

  test('agree on one leader', async () => {
    expect(etcd.members).toContain(await etcd.leader());
    expect(await etcd.leader()).toBe(await etcd.leader());
  });

  test('choose another leader when theirs is killed, and take it back with what it missed', async () => {
    const killed = await etcd.leader();
    await killed.kill();
    expect(killed.state).toBe('ended');
    const chosen = await etcd.leader();
    expect(chosen).not.toBe(killed);
    await put(chosen, 'missed', 'not by all');
    await killed.start();
    await etcd.waitUntilHealthy();
    expect(await get(killed, 'missed')).toBe('not by all');
  });

  test('do without one that is paused, which catches up when it goes on', async () => {
    const paused = await etcd.leader();
    await paused.pause();
    expect(paused.state).toBe('paused');
    const chosen = await etcd.leader();
    expect(chosen).not.toBe(paused);
    await put(chosen, 'meanwhile', 'written');
    paused.resume();
    await waitUntil('the paused one knows', async () => (await get(paused, 'meanwhile')) === 'written');
  });

  test('remember everything when all of them were killed', async () => {
    await put(etcd.members[0]!, 'kept', 'for ever');
    await Promise.all(etcd.members.map((member) => member.kill()));
    for (const member of etcd.members) await member.start();
    await etcd.waitUntilHealthy();
    expect(await get(etcd.members[2]!, 'kept')).toBe('for ever');
  });

  test('know nothing of the variables that this process has', async () => {
    const environment = readFileSync(`/proc/${etcd.members[0]!.pid}/environ`, 'utf8');
    expect(environment.split('\0').filter((line) => line !== '' && !line.startsWith('ETCD_UNSUPPORTED_ARCH'))).toEqual(
      [],
    );
  });

  describe('behind proxies', () => {
    let proxies: EtcdProxies;
    beforeAll(async () => {
      proxies = await startEtcdProxies(etcd);
    });
    afterAll(() => proxies.stop());

    test('are out of reach for the client alone, until the partition heals', async () => {
      const range = (endpoint: string) =>
        fetch(`${endpoint}/v3/kv/range`, { method: 'POST', body: `{"key":"${base64('greeting')}"}` });
      expect((await range(proxies.endpoints[1]!)).status).toBe(200);
      proxies.blackhole();
      let isAnswered = false;
      const asked = range(proxies.endpoints[1]!).then((response) => {
        isAnswered = true;
        return response.status;
      });
      // Others ask and are answered, one after the other, while this one waits.
      for (let others = 0; others < 20; others += 1) expect((await range(etcd.endpoints[1]!)).status).toBe(200);
      expect(isAnswered).toBe(false);
      proxies.resume();
      expect(await asked).toBe(200);
    });
  });
});

test('a stopped etcd leaves nothing behind', async () => {
  const etcd = await startEtcd({ members: 1 });
  const [member] = etcd.members;
  const { pid } = member!;
  const folder = member!.dataFolder;
  expect(existsSync(folder)).toBe(true);
  await etcd.stop();
  expect(existsSync(folder)).toBe(false);
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

test.runIf(existsSync('/dev/shm'))('what a killed process left in memory is removed by the next', async () => {
  const { pid } = spawnSync('true');
  const left = mkdtempSync(`/dev/shm/sluice-etcd-0-${pid}-`);
  const ours = mkdtempSync(`/dev/shm/sluice-etcd-0-${process.pid}-`);
  try {
    await (await startEtcd({ members: 1 })).stop();
    expect([existsSync(left), existsSync(ours)]).toEqual([false, true]);
  } finally {
    rmdirSync(ours);
  }
});

test('a number of members that cannot be is refused', async () => {
  await expect(startEtcd({ members: 0 })).rejects.toThrow('members must be a whole number from 1 to 7, got 0.');
});
