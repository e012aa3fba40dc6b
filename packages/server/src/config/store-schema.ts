/** Where the counts live. Each kind of store takes its own fields; a description begins with the kinds that take it. */
import { mustBeRedisAddress, redisAddressPattern } from './redis-address.ts';
import { choice, duration, flag, path, type SettingSchema, section, text, token, wholeNumber } from './schema-kinds.ts';

const host = '(\\[[0-9a-fA-F:.]+\\]|[^\\s:/@,?#\\[\\]]+)';
const etcdAddress = `https?://${host}:\\d{1,5}/?`;
const nodeAddress = `${host}:\\d{1,5}`;

/** A list. Also one text with commas between them, so that a variable can say it. */
function addresses(
  about: Pick<SettingSchema, 'description' | 'examples' | 'writeOnly'>,
  form: { readonly pattern: string; readonly mustBe: string },
): SettingSchema {
  return {
    type: ['string', 'array'],
    ...about,
    pattern: `^${form.pattern}(,${form.pattern})*$`,
    minItems: 1,
    items: {
      type: 'string',
      description: 'One of them.',
      ...(about.writeOnly && { writeOnly: true }),
      pattern: `^${form.pattern}$`,
      errorMessage: `must be ${form.mustBe}`,
    },
    errorMessage: `must be ${form.mustBe}, or a list of such`,
  };
}

export const storeSchema = section(
  { description: 'Where the counts live.' },
  {
    type: choice(['memory', 'redis', 'owned', 'cluster'], {
      description:
        '`memory`: in this process. `redis`: in Redis, shared by all services that use it. `owned`: in this process and others like it, each key in one of them: this is a node of a cluster. `cluster`: in such a cluster, which this process asks.',
      default: 'memory',
    }),
    maxKeys: wholeNumber(
      { from: 1, to: 2 ** 30 },
      {
        description: '`memory`: the most keys held at once. `owned`: the same, of the whole cluster.',
        default: 1_000_000,
      },
    ),
    url: {
      ...text({
        description: '`redis`: the server, or one of a cluster.',
        examples: ['redis://127.0.0.1:6379', 'rediss://:password@redis.internal:6380/0'],
        writeOnly: true,
      }),
      pattern: redisAddressPattern,
      errorMessage: mustBeRedisAddress,
    },
    prefix: text({ description: '`redis`: what every key begins with.', default: 'sluice:' }),
    cluster: flag({ description: '`redis`: the server is one of a Redis Cluster.', default: false }),
    fenced: flag({
      description: '`redis`: notice a failover that may have lost counts, and refuse until they no longer matter.',
      default: false,
    }),
    timeout: duration({
      description: '`redis`: how long an answer may take before `onStoreFailure` of the rule applies.',
      default: '100ms',
    }),
    onFailure: choice(['closed', 'open', 'local'], {
      description: '`redis`, `owned`, `cluster`: what rules do that do not say `onStoreFailure` themselves.',
      default: 'closed',
    }),
    // Nobody should write a password into an address, but who does must not see it in a problem.
    etcd: addresses(
      {
        description:
          '`owned`: the members of etcd, where nodes find each other and agree on who counts what. A list, or one text with commas.',
        examples: [['http://127.0.0.1:2379']],
        writeOnly: true,
      },
      {
        pattern: etcdAddress,
        mustBe: 'an address such as http://127.0.0.1:2379 or https://etcd.internal:2379, without a user in it',
      },
    ),
    etcdUsername: text({ description: '`owned`: the user of etcd that nodes are. None unless given.' }),
    etcdPassword: text({ description: "`owned`: that user's password.", writeOnly: true }),
    etcdTls: section(
      { description: '`owned`: the files of TLS with etcd, whose addresses then begin with https://.' },
      {
        authority: path({
          description:
            '`owned`: a file (PEM): the authority of the certificates of etcd. Those that Node.js knows unless given.',
        }),
        certificate: path({ description: '`owned`: a file (PEM): the certificate that nodes show to etcd.' }),
        key: path({ description: '`owned`: a file (PEM): the key of that certificate.' }),
      },
    ),
    clusterName: {
      ...text({
        description: '`owned`: clusters of different names in one etcd know nothing of each other.',
        default: 'default',
      }),
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      errorMessage: 'must be a name of 1 to 64 letters, digits, dots, _ and -',
    },
    advertise: {
      ...text({
        description:
          '`owned`: the host that clients and other nodes reach this node by. That of `listen.resp` unless given, which must then be a single address.',
        examples: ['10.0.0.1', 'node-1.internal'],
      }),
      pattern: '^([^\\s:/@,\\[\\]]+|[0-9a-fA-F.]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*)$',
      errorMessage: 'must be a host without a port, such as 10.0.0.1 or node-1.internal',
    },
    ttl: duration({
      description:
        "`owned`: how long a node may decide after it last renewed its record in etcd. Longer than etcd needs to choose a new leader; a silent node's keys are taken over a little later. From 500ms.",
      default: '10s',
    }),
    grace: duration({
      description:
        '`owned`: how old a grant may be when it is used, since the question was sent; windows are wider by it. Callers drop older ones. The same on all nodes; from 1ms to a quarter of `ttl`.',
      default: '10ms',
    }),
    unreplicated: wholeNumber(
      { from: 0, to: 1_000_000 },
      {
        description:
          '`owned`: how many grants of a key may be ahead of its copy on another node; after a crash so many count as used. The same on all nodes. 0: there are no copies, and a crash costs a window.',
        default: 10,
      },
    ),
    shards: wholeNumber(
      { from: 16, to: 1024 },
      {
        description:
          '`owned`: into how many parts the keys are divided, each owned by one node. The same on all nodes. More than 256 only for more than some fifty nodes.',
        default: 256,
      },
    ),
    durableFrom: duration({
      description:
        '`owned`: what policies with a window of this or more grant is written to etcd before, and outlives a restart of all nodes. The same on all nodes; from 1m.',
      default: '1h',
    }),
    durableKeys: wholeNumber(
      { from: 1, to: 1_000_000 },
      { description: '`owned`: the most keys that are written to etcd so. Others are refused.', default: 10_000 },
    ),
    patience: duration({
      description:
        '`owned`: how long a call waits for another node, or for keys that are just changing nodes, before `onStoreFailure` of the rule applies.',
      default: '1s',
    }),
    nodes: addresses(
      {
        description:
          '`cluster`: nodes by the address of their Redis protocol. One that answers tells of all others. A list, or one text with commas.',
        examples: [['10.0.0.1:6380', '10.0.0.2:6380']],
      },
      { pattern: nodeAddress, mustBe: 'host:port, such as 10.0.0.1:6380' },
    ),
    nodesTls: flag({ description: '`cluster`: nodes are spoken to by TLS.', default: false }),
    token: token({ description: '`cluster`: what opens the doors of the nodes: one of their `security.tokens`.' }),
    deadline: duration({
      description:
        '`cluster`: how long an answer may take before `onStoreFailure` of the rule applies. At most `grace` of the nodes: grants that are older are not strict.',
      default: '10ms',
    }),
  },
);
