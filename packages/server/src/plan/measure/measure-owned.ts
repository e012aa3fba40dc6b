/** What it costs a node to be one of a cluster: the same checks to a plain service and to a node that owns everything. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceProcess, startServiceProcess } from '../../load/service-process.ts';
import { readCostOf } from '../check-cost.ts';
import type { EtcdFigures } from '../plan-figures.ts';
import { removingAfterwards } from './leftovers.ts';
import { bytesOfCheck, type ClientOrder, measureSpeed } from './measure-clients.ts';
import { measureEtcd, removeFromEtcd } from './measure-etcd.ts';
import type { FiguresOrder } from './measure-figures.ts';

// A node that knows nothing of the past refuses for a window, and refusals are cheaper than grants: a short window, here and there.
const window = 1000;
const maxKeys = 1_000_000;
const longestEtcdSeconds = 3;

export async function measureOwned(order: FiguresOrder, plain: ServiceProcess): Promise<EtcdFigures> {
  const { etcd, seconds, progress } = order;
  progress('etcd: transactions');
  const speed = await measureEtcd(etcd, Math.min(longestEtcdSeconds, seconds));
  const smart: ClientOrder = { ...order, client: 'smart', policy: { ...order.policy, window } };
  progress('a plain service, to compare with');
  const before = await measureSpeed(plain, smart);
  progress('a node of a cluster');
  const clusterName = `plan-${randomUUID()}`;
  const store = { type: 'owned', etcd: [...etcd], clusterName, unreplicated: 0 };
  const starting = startServiceProcess({ workers: 1, maxKeys, policy: smart.policy, store });
  const remove = async () => {
    // A node that runs would write its record again.
    await starting.then(
      (node) => node.stop(),
      () => undefined,
    );
    await removeFromEtcd(etcd, `/sluice/${clusterName}/`);
  };
  return removingAfterwards(remove, async () => {
    const node = await starting;
    await untilItDecides(node, smart);
    await sleep(2 * window);
    const after = await measureSpeed(node, smart);
    const [plainCost, nodeCost] = [readCostOf(before), readCostOf(after)];
    return {
      ...speed,
      ownedReadUs: Math.max(0, nodeCost.perReadUs - plainCost.perReadUs),
      ownedCheckUs: Math.max(0, nodeCost.perCheckUs - plainCost.perCheckUs),
    };
  });
}

const longestMs = 60_000;
const everyMs = 200;

async function untilItDecides(node: ServiceProcess, order: ClientOrder): Promise<void> {
  const endMs = performance.now() + longestMs;
  for (;;) {
    try {
      await bytesOfCheck(node, order);
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await sleep(everyMs);
    }
  }
}
