// Which tests are run together: `npm run check` runs `alone` and all that are in no list, `npm test` all. The first lists win: a file of `alone` is in no other
// set, one of `apart` is not in `slow`, one of `quiet` not in `apart`.

/**
 * These change what all files of one process share (what is global, the depth of its stack), or measure it (its memory). All others that need no server are
 * run many to a process: to start one for each, and to load the same modules in each, would take longer than most tests.
 */
export const alone = [
  'packages/sluice/src/http/{fetch,hono}/*.test.ts',
  'packages/sluice/src/protect/fetch/resilient-fetch.test.ts',
  'packages/server/src/config/problem-pictures.test.ts',
  'packages/server/src/gateway/front/back-pressure.test.ts',
  'packages/simulator/src/scenario/parse-scenario.test.ts',
];

/**
 * These work in processes, browsers and worlds of their own, or try thousands of inputs on what others cover: to collect their coverage says nothing and takes
 * long, and they go well with each other and not with the rest.
 */
export const apart = [
  'packages/simulator/src/theory.test.ts',
  'packages/server/src/simulate/ready-scenarios-redis.test.ts',
  'packages/server/src/gateway/nginx-limit-req.test.ts',
  'packages/server/src/{http,grpc,resp}/*fuzz.test.ts',
  'packages/server/src/config/large-files.test.ts',
  'packages/sluice/src/stores/redis/one-truth.test.ts',
  'packages/sluice/src/protect/adaptive-concurrency/simulation.test.ts',
  'packages/sluice/src/protect/pacer/simulation.test.ts',
  'packages/simulator/src/cluster/*.test.ts',
  'packages/simulator/src/overload/overload.test.ts',
  'packages/simulator/src/balancing/balancing.test.ts',
  'packages/simulator/src/scenario/ready-scenarios.test.ts',
  'packages/server/src/cluster/fire/*.test.ts',
  'packages/sluice/src/stores/shared-memory/shared-memory-store.test.ts',
  'packages/studio/src/browser/*.test.ts',
  'packages/test-servers/src/**/*.test.ts',
  'checks/readme-snippets.test.ts',
];

/** What these promise holds where the machine keeps up: a standby that gets no processor for a second is missed. Nothing else runs beside them. */
export const quiet = ['packages/server/src/cluster/fire/planned.test.ts'];

/** Tests of the package as it is published, and tests with real servers and processes. */
export const slow = [
  'checks/packed-{tarball,server}.test.ts',
  'checks/examples.test.ts',
  'checks/runtimes.test.ts',
  'packages/server/src/gateway/*.test.ts',
  'packages/sluice/src/stores/redis/**/*.test.ts',
  'packages/**/*redis.test.ts',
  'packages/server/src/serve/**/*.test.ts',
  'packages/server/src/operations/operations.test.ts',
  'packages/server/src/load/generate.test.ts',
  'packages/server/src/commands/bench.test.ts',
  'packages/server/src/resp/clients.test.ts',
  'packages/server/src/grpc/grpc-door-{drain,tls}.test.ts',
  'packages/server/src/resp/cluster-clients.test.ts',
  'packages/server/src/cluster/etcd/*.test.ts',
  'packages/server/src/cluster/{client,client-conformance,cluster-node,long-windows}.test.ts',
  'packages/server/src/commands/{simulate,tune}.test.ts',
  'packages/server/src/simulate/guide.test.ts',
];

/** From half a minute on. They come first: one that begins last keeps one core busy while the others have nothing left to do. */
export const longest = [
  'checks/readme-snippets.test.ts',
  'serve/serve.test.ts',
  'shared-memory/shared-memory-store.test.ts',
  'fire/crashes.test.ts',
  'fire/etcd.test.ts',
  'browser/playground.test.ts',
  'browser/live.test.ts',
  'cluster/everything.test.ts',
  'cluster/crashes.test.ts',
  'cluster/plans.test.ts',
  'cluster/pauses.test.ts',
  'cluster/cuts.test.ts',
  'stores/redis/conformance.test.ts',
  'stores/redis/one-truth.test.ts',
  'overload/overload.test.ts',
  'fence/deposed.test.ts',
  'fence/failover.test.ts',
  'fence/clock.test.ts',
  'checks/packed-server.test.ts',
  'cluster/cluster-node.test.ts',
];
