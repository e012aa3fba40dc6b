// Three clients, set so that they are strict: nothing is sent twice, nothing waits in a queue of the client, and an answer that is older than the
// cluster's `grace` is dropped. All of them ask about the same user.
import { Cluster, Command } from 'ioredis';
import { createCluster } from 'redis';
import { limiter, slidingLog } from 'sluice';
import { clusterStore } from 'sluice/client';

const port = Number(process.argv[2] ?? 6380);
const graceMs = Number(process.argv[3] ?? 250); // that of sluice.yaml
const rule = 'per-user';
const user = `clients-${process.pid}`;

// --- ioredis ---

// It does not know where our command has its key, so it is told; else it asks any node, and follows MOVED.
class Check extends Command {
  constructor(key) {
    super('SLUICE.CHECK', [rule, key], { replyEncoding: 'utf8' });
    this.key = key;
  }
  getKeys() {
    return [this.key];
  }
}

const cluster = new Cluster([{ host: '127.0.0.1', port }], {
  redisOptions: { commandTimeout: graceMs, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 },
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  maxRedirections: 2,
});
cluster.on('error', () => undefined); // Whoever asked is told.
await new Promise((resolve) => cluster.once('ready', resolve));

function byIoredis(key) {
  const check = new Check(key);
  cluster.sendCommand(check);
  return check.promise;
}

// --- node-redis ---

const nodeRedis = createCluster({
  rootNodes: [{ socket: { host: '127.0.0.1', port } }],
  defaults: { disableOfflineQueue: true, socket: { socketTimeout: 5000 } },
  maxCommandRedirections: 2,
});
nodeRedis.on('error', () => undefined);
await nodeRedis.connect();
const byNodeRedis = (key) => nodeRedis.sendCommand(key, false, ['SLUICE.CHECK', rule, key]);

/** Whether it may go on. What came too late, or not at all, is no. */
async function allowed(ask, key) {
  const sentMs = performance.now();
  try {
    const [isAllowed] = await ask(key);
    return isAllowed === 1 && performance.now() - sentMs <= graceMs;
  } catch {
    return false;
  }
}

// --- sluice/client ---

// It does all of that by itself. The name is that of the rule, and so is the policy: what it counts is the same.
const store = clusterStore({ nodes: [`127.0.0.1:${port}`], deadline: graceMs });
const perUser = limiter(slidingLog({ limit: 3, window: '10s' }), { store, name: rule });

// Connections to the owners are opened by the first question to each.
for (let i = 0; i < 20; i += 1) {
  await Promise.all([allowed(byIoredis, `${user}-${i}`), allowed(byNodeRedis, `${user}-${i}`)]);
  await perUser.check(`${user}-${i}`).catch(() => undefined);
}

console.log('# three in ten seconds, whoever asks');
console.log('ioredis      ', await allowed(byIoredis, user));
console.log('node-redis   ', await allowed(byNodeRedis, user));
console.log('sluice/client', (await perUser.check(user)).allowed);
console.log('ioredis      ', await allowed(byIoredis, user));
const { allowed: isAllowed, reason, retryAfterMs } = await perUser.check(user);
console.log('sluice/client', isAllowed, reason, retryAfterMs > 0);

cluster.disconnect();
nodeRedis.destroy();
await store.close();
