/**
 * A real etcd on loopback.
 *
 *   client ──► member 0        member 1        member 2        JSON over HTTP, and gRPC, on the same port
 *                  └──────────────┴───────────────┘            a port each for what they tell each other
 *
 * One of them leads; what a majority has written is never lost. A member that is killed, paused or started again is one that the others
 * have to do without, or take back. Clients are cut off with `startEtcdProxies`.
 */
import { type EtcdMember, type EtcdTls, etcdMember } from './etcd-member.ts';
import { loopback, reservePort } from './free-port.ts';
import { waitUntil } from './wait-until.ts';

export interface EtcdOptions {
  /** Default 3: one may be away. */
  readonly members?: number;
  /** How long a leader may be silent before the others choose another. Default 1000, as etcd's own. */
  readonly electionTimeoutMs?: number;
  /** How often a leader says that it is there. Default 100, as etcd's own. */
  readonly heartbeatMs?: number;
  /** Default: none, plain HTTP. */
  readonly tls?: EtcdTls;
}

export interface EtcdCluster {
  /** What a client is given: one address per member, in their order. */
  readonly endpoints: string[];
  readonly members: readonly EtcdMember[];
  /** Whoever leads, as itself says. Waits until there is one. */
  leader(): Promise<EtcdMember>;
  /** Waits until every running member has a majority with it and answers. */
  waitUntilHealthy(): Promise<void>;
  /** Ends all members for good and removes their data. */
  stop(): Promise<void>;
}

const mostMembers = 7;

export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdCluster> {
  const { members: count = 3, electionTimeoutMs = 1000, heartbeatMs = 100, tls } = options;
  if (!Number.isInteger(count) || count < 1 || count > mostMembers) {
    throw new RangeError(`members must be a whole number from 1 to ${mostMembers}, got ${count}.`);
  }
  const names = Array.from({ length: count }, (_, index) => `etcd-${index}`);
  const ports = await Promise.all(
    names.map(async (name) => ({ name, client: await reservePort(), peer: await reservePort() })),
  );
  const initialCluster = ports.map(({ name, peer }) => `${name}=http://${loopback}:${peer.port}`).join(',');
  const timing = { electionTimeoutMs, heartbeatMs };
  const members = await Promise.all(ports.map((port) => etcdMember({ ...port, ...timing, initialCluster, tls })));
  const running = () => members.filter((member) => member.state === 'running');

  async function waitUntilHealthy(): Promise<void> {
    await waitUntil('every running member of etcd is healthy', async () => {
      const answers = await Promise.all(running().map((member) => member.call<Health>('/health')));
      return answers.length > 0 && answers.every(({ health }) => health === 'true');
    });
  }

  async function leader(): Promise<EtcdMember> {
    let found: EtcdMember | undefined;
    await waitUntil('a member of etcd leads', async () => {
      found = await claimant(running());
      return found !== undefined;
    });
    return found!;
  }

  async function stop(): Promise<void> {
    await Promise.all(members.map((member) => member.stop()));
  }

  try {
    await Promise.all(members.map((member) => member.start()));
    await waitUntilHealthy();
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoints: members.map(({ endpoint }) => endpoint), members, leader, waitUntilHealthy, stop };
}

interface Health {
  readonly health: string;
}

interface Status {
  readonly header: { readonly member_id: string };
  /** Absent while the member knows none. */
  readonly leader?: string;
  readonly raftTerm: string;
}

/** Who says of itself that it leads. A deposed leader may say so too for a moment; of two claims the later term counts. */
async function claimant(members: readonly EtcdMember[]): Promise<EtcdMember | undefined> {
  const answers = await Promise.allSettled(
    members.map(async (member) => ({ member, status: await member.call<Status>('/v3/maintenance/status', {}) })),
  );
  return answers
    .flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    .filter(({ status }) => status.leader === status.header.member_id)
    .sort((one, other) => Number(other.status.raftTerm) - Number(one.status.raftTerm))[0]?.member;
}
