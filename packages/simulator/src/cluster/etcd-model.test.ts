import type { Etcd, Transaction } from 'sluice-server/cluster';
import { expect, test } from 'vitest';
import { etcdConformance } from '../../../server/src/cluster/etcd/conformance.test-support.ts';
import { eventLoop } from '../events.ts';
import { EtcdModel, etcdHost } from './etcd-model.ts';
import { Host } from './host.ts';
import { fairWeather, Network } from './network.ts';

function modelWithClient() {
  const loop = eventLoop({ seed: 7 });
  const network = new Network(loop, loop.random.fork(), fairWeather);
  const model = new EtcdModel(loop, network, loop.random.fork());
  const host = new Host({ loop, name: 'n', random: loop.random.fork(), rate: 1, originMs: 0 });
  return { loop, network, model, client: model.clientOf(host, host.boot()) };
}

etcdConformance('the model of etcd', async () => {
  const { loop, client } = modelWithClient();
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    await Promise.resolve();
    await loop.run();
    isRunning = false;
  };
  const etcd: Etcd = {
    async transact(transaction, timeoutMs) {
      const answer = client.transact(transaction, timeoutMs);
      // One run of the world for all that is asked in a turn.
      const [outcome] = await Promise.all([answer, isRunning ? undefined : run()]);
      return outcome;
    },
  };
  return { etcd, close: () => {} };
});

const put: Transaction = { compare: [], change: [{ put: 'key', value: 'value' }], read: [] };
const read: Transaction = { compare: [], change: [], read: [{ key: 'key' }] };

test('what is asked without a leader is refused, lost, or happens when there is one again', async () => {
  const seen = new Set<string>();
  for (let i = 0; i < 30; i += 1) {
    const { loop, model, client } = modelWithClient();
    for (let draws = 0; draws < i; draws += 1) model.loseLeader()();
    for (let draws = 0; draws < i; draws += 1) client.transact(read, 10).catch(() => {});
    await loop.run();
    const goOn = model.loseLeader();
    const outcome = client.transact(put, 100).then(
      () => 'done',
      (error: Error) => (error.message.includes('leader') ? 'refused' : 'silence'),
    );
    await loop.run(loop.nowMs + 200);
    goOn();
    await loop.run();
    seen.add(`${await outcome}, ${model.state.revision === 1 ? 'did not happen' : 'happened later'}`);
  }
  expect(seen).toEqual(new Set(['refused, did not happen', 'silence, did not happen', 'silence, happened later']));
});

test('an answer that is lost says nothing of whether it happened', async () => {
  const { loop, network, model, client } = modelWithClient();
  network.postmaster = ({ from }) => (from === etcdHost ? 'lost' : undefined);
  const outcome = expect(client.transact(put, 50)).rejects.toThrow('did not answer');
  await loop.run();
  await outcome;
  expect(model.state.revision).toBe(2);
});

test('a member that lags answers what it knows, and cannot change anything by it', async () => {
  const { loop, model, client } = modelWithClient();
  const ask = async (transaction: Transaction) => {
    const answer = client.transact(transaction, 50);
    await loop.run();
    return answer;
  };
  model.lagging.set('n', 1);
  await ask(put);
  expect((await ask(read)).found).toEqual([[]]);
  const { succeeded } = await ask({ ...put, compare: [{ key: 'key', modRevision: 0 }] });
  expect(succeeded).toBe(false);
  model.lagging.delete('n');
  expect((await ask(read)).found[0]).toHaveLength(1);
});
