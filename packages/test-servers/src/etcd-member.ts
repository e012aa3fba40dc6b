/**
 * One member of an etcd cluster: Debian's `etcd`, with its ports and its data for as long as the cluster lives.
 *
 * Its environment is empty: etcd takes every ETCD_* variable for a setting, and those of the machine are not meant for it.
 */
import { writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ensureDebianPackage } from './debian-package.ts';
import { etcdFolder } from './etcd-folder.ts';
import { loopback, type ReservedPort } from './free-port.ts';
import { type OwnedProcess, startProcess } from './owned-process.ts';
import { removeFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

/** PEM texts. The members use them to serve, and ask every client for a certificate of the same authority. */
export interface EtcdTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface EtcdMember {
  readonly name: string;
  /** Where clients ask: `http://127.0.0.1:port`, or `https:` with TLS. */
  readonly endpoint: string;
  readonly port: number;
  /** Where the other members speak with it: `127.0.0.1:port`. */
  readonly peerAddress: string;
  /** What it has written; a copy of it, made and put back while it does not run, is a backup. Removed by `stop`. */
  readonly dataFolder: string;
  readonly state: 'running' | 'paused' | 'ended';
  /** Of the running process; another one after it was started again. */
  readonly pid: number;
  /** Asks its JSON gateway, e.g. `call('/v3/kv/range', { key: 'Zm9v' })`. An answer other than 200 is thrown. */
  call<T = unknown>(path: string, body?: object): Promise<T>;
  /** SIGKILL, and waits for the end. Its ports and its data stay. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, what is sent waits in the kernel. Resolves when the process stands still. */
  pause(): Promise<void>;
  /** SIGCONT: it goes on where it stood. */
  resume(): void;
  /** Starts it again with the same data. Resolves when it listens: without a majority it answers nobody yet. */
  start(): Promise<void>;
  /** Ends it for good: its data is removed and its ports are given back. */
  stop(): Promise<void>;
}

export interface MemberOptions {
  readonly name: string;
  readonly client: ReservedPort;
  readonly peer: ReservedPort;
  /** As etcd's `--initial-cluster`: `name=http://127.0.0.1:port,...` of all members. */
  readonly initialCluster: string;
  readonly electionTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly tls?: EtcdTls | undefined;
}

export function ensureEtcd(): Promise<string> {
  return ensureDebianPackage('etcd', ['etcd-server']);
}

/** Made, not started. */
export async function etcdMember(options: MemberOptions): Promise<EtcdMember> {
  const { name, client, peer, tls } = options;
  const etcd = await ensureEtcd();
  const folder = etcdFolder(name);
  const endpoint = `${tls ? 'https' : 'http'}://${loopback}:${client.port}`;
  const args = ['-i', ...architecture(), etcd, ...flags(options, endpoint, folder)];
  if (tls) for (const part of ['ca', 'cert', 'key'] as const) writeFileSync(join(folder, `${part}.pem`), tls[part]);
  let running: OwnedProcess | undefined;

  async function start(): Promise<void> {
    if (running !== undefined && running.state !== 'ended') throw new Error(`${name} runs already. Kill it first.`);
    // `env` becomes etcd, so the id of the one is that of the other.
    const started = await startProcess({ command: 'env', args, folder, logFile: join(folder, 'log') });
    running = started;
    await waitUntil(`${name} listens`, () => {
      if (started.state === 'ended') throw new GaveUp(`etcd ended at once:\n${started.log()}`);
      return isListening(client.port);
    });
  }

  return {
    name,
    endpoint,
    port: client.port,
    peerAddress: `${loopback}:${peer.port}`,
    dataFolder: join(folder, 'data'),
    get state() {
      return running?.state ?? 'ended';
    },
    get pid() {
      return running!.pid;
    },
    call: (path, body) => ask(endpoint + path, body, tls),
    async kill() {
      await running?.end('SIGKILL');
    },
    pause: () => running!.pause(),
    resume: () => running!.resume(),
    start,
    async stop() {
      await running?.end('SIGKILL');
      removeFolder(folder);
      client.release();
      peer.release();
    },
  };
}

function flags(options: MemberOptions, endpoint: string, folder: string): string[] {
  const { name, peer, initialCluster, electionTimeoutMs, heartbeatMs, tls } = options;
  const peerUrl = `http://${loopback}:${peer.port}`;
  const settings: Record<string, string | number> = {
    name,
    'data-dir': join(folder, 'data'),
    'listen-client-urls': endpoint,
    'advertise-client-urls': endpoint,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': initialCluster,
    'initial-cluster-state': 'new',
    'election-timeout': electionTimeoutMs,
    'heartbeat-interval': heartbeatMs,
    logger: 'zap',
    'log-level': 'warn',
  };
  if (tls) {
    settings['client-cert-auth'] = 'true';
    settings['trusted-ca-file'] = join(folder, 'ca.pem');
    settings['cert-file'] = join(folder, 'cert.pem');
    settings['key-file'] = join(folder, 'key.pem');
  }
  return Object.entries(settings).map(([setting, value]) => `--${setting}=${value}`);
}

/** etcd 3.4 runs on what its makers do not test only when it is told the name of it. */
function architecture(): string[] {
  const names: Partial<Record<NodeJS.Architecture, string>> = { arm64: 'arm64', arm: 'arm', ia32: '386' };
  const name = names[process.arch];
  return name === undefined ? [] : [`ETCD_UNSUPPORTED_ARCH=${name}`];
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, loopback);
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

const askTimeoutMs = 2000;

function ask<T>(url: string, body: object | undefined, tls: EtcdTls | undefined): Promise<T> {
  const method = body === undefined ? 'GET' : 'POST';
  const signal = AbortSignal.timeout(askTimeoutMs);
  return new Promise((resolve, reject) => {
    const options = { method, signal, agent: false as const };
    const asked = tls ? requestHttps(url, { ...options, ...tls }) : requestHttp(url, options);
    asked.once('error', reject);
    asked.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.once('error', reject);
      response.once('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`${url} answered ${response.statusCode}: ${text}`));
      });
    });
    asked.end(body && JSON.stringify(body));
  });
}
