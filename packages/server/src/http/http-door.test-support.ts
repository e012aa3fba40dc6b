// What the tests of this folder share: a real service behind a real door, fetch and raw sockets to ask it.
import { type AddressInfo, connect, type Socket } from 'node:net';
import { memoryStore, type Store } from 'sluice';
import { TestClock } from 'sluice/testing';
import type { LimitsConfig } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import { loadEnvoyFiles } from '../envoy/load-envoy-files.ts';
import { envoyLimiter } from '../envoy/should-rate-limit.ts';
import { CheckMeter } from '../operations/check-meter.ts';
import { collectStatus } from '../operations/collect-status.ts';
import { serviceMetrics } from '../operations/metrics.ts';
import { refusedKeys } from '../operations/refused-keys.ts';
import type { TlsFiles } from '../service/door.ts';
import { doorMeter } from '../service/door-meter.ts';
import { LocalService } from '../service/local-service.ts';
import type { ReloadReport, Service } from '../service/service.ts';
import { Tokens } from '../service/tokens.ts';
import { httpDoor } from './http-door.ts';
import type { Serves } from './routes.ts';
import type { Site } from './site.ts';

export const startMs = 1_700_000_055_000;

export const limits: LimitsConfig = {
  bodyBytes: 64 * 1024,
  keyBytes: 256,
  batchItems: 10,
  connections: 1000,
  pipelineDepth: 100,
  idleMs: 60_000,
  requestMs: 30_000,
};

const rulesText = `
rules:
  - { name: per-user, key: user, algorithm: sliding-log, limit: 2, window: 1m }
  - { name: per-ip, key: ip, algorithm: gcra, limit: 10, window: 1m }
  - { name: watched, key: user, algorithm: gcra, limit: 1, window: 1h, shadow: true }
deny:
  - { ip: 192.0.2.66 }
`;

// The first of envoyproxy/ratelimit's own examples, with a limit that a test can reach.
const envoyText = `
domain: mongo_cps
descriptors:
  - key: database
    value: users
    rate_limit: { unit: second, requests_per_unit: 2 }
`;

export interface OpenOptions {
  readonly serves?: Serves;
  readonly limits?: Partial<LimitsConfig>;
  readonly tokens?: readonly string[];
  readonly tls?: TlsFiles;
  readonly store?: (clock: TestClock) => Store;
  readonly rules?: string;
  readonly site?: Site;
  /** In place of parts of the real service, for what it does only when the world fails. */
  readonly instead?: Partial<Service>;
}

const nothingChanged: ReloadReport = {
  isApplied: true,
  problems: [],
  needsRestart: [],
  added: [],
  changed: [],
  removed: [],
};
const metrics = serviceMetrics('0.0.0');

export function realService({ store: storeOf, rules = rulesText }: OpenOptions = {}): {
  service: Service;
  clock: TestClock;
} {
  const clock = new TestClock(startMs);
  const store = storeOf?.(clock) ?? memoryStore({ clock });
  const read = readConfig({ text: rules });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  const { config } = read;
  const names = config.rules.map(({ name }) => name);
  const checks = new CheckMeter(names);
  const refusals = refusedKeys({ clock });
  const envoyRules = loadEnvoyFiles([{ path: 'mongo.yaml', text: envoyText }], { mergeDomains: false });
  const envoy = envoyLimiter({ rules: () => envoyRules, store, responseHeaders: () => false });
  const local = new LocalService({ store, checks, refusals, envoy }, config);
  const service: Service = {
    check: (subject, call) => local.check(subject, call),
    checkRule: (rule, key, call) => local.checkRule(rule, key, call),
    checkPolicy: (policy, key, call) => local.checkPolicy(policy, key, call),
    apply: (sent, requestId) => local.apply(sent, requestId),
    throttle: (...given) => local.throttle(...given),
    shouldRateLimit: (request) => local.shouldRateLimit(request),
    ruleData: () => local.ruleData(),
    inspect: (rule, key, tier) => local.inspect(rule, key, tier),
    reset: (rule, key) => local.reset(rule, key),
    override: (rule, key, override) => local.override(rule, key, override),
    removeOverride: (rule, key) => local.removeOverride(rule, key),
    overrides: () => local.overrides(),
    topRefused: (most) => refusals.top(most),
    reload: () => nothingChanged,
    status: () =>
      collectStatus({
        kind: 'service',
        startedAtMs: startMs,
        readiness: { isReady: true },
        rules: names,
        checks: [checks.read()],
        refusals: refusals.read(),
        store: { type: 'memory', keys: 0, evictedLiveKeys: 0, errors: 0, degraded: 0 },
        revision: local.revision,
      }),
    metrics: () =>
      metrics.text({
        rules: names,
        checks: [checks.read()],
        doors: {},
        store: { type: 'memory', keys: 0, evictedLiveKeys: 0, errors: 0, degraded: 0 },
        envoy: [],
        reloads: { succeeded: 0, failed: 0, lastSuccessMs: startMs },
      }),
    readiness: () => ({ isReady: true }),
  };
  return { service, clock };
}

/** A service whose every answer comes later, as over Redis or from another thread. */
export function answeringLater(service: Service): Service {
  const later = Object.entries(service).map(([name, ask]) => {
    return [
      name,
      async (...given: unknown[]) => {
        await new Promise((resolve) => setImmediate(resolve));
        return (ask as (...given: unknown[]) => unknown)(...given);
      },
    ];
  });
  return Object.fromEntries(later) as Service;
}

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire is what a test is about to look at
export type Json = any;

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly type: string;
  readonly text: string;
  readonly json: Json;
}

export interface Opened {
  readonly door: ReturnType<typeof httpDoor>;
  readonly port: number;
  readonly clock: TestClock;
  readonly meter: ReturnType<typeof doorMeter>;
  /** They may be changed. */
  readonly tokens: Tokens;
  /** What was logged as an error. */
  readonly errors: object[];
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Asked>;
  close(): Promise<void>;
}

export async function open(
  options: OpenOptions = {},
  wrap: (service: Service) => Service = (one) => one,
): Promise<Opened> {
  const { service, clock } = realService(options);
  const meter = doorMeter();
  const errors: object[] = [];
  const tokens = new Tokens(options.tokens ?? []);
  const door = httpDoor(wrap({ ...service, ...options.instead }), {
    serves: options.serves ?? 'everything',
    limits: { ...limits, ...options.limits },
    tokens,
    tls: options.tls,
    site: options.site,
    clock,
    meter,
    log: { debug() {}, info() {}, warn() {}, error: (fields) => errors.push(fields) },
  });
  await door.listen({ host: '127.0.0.1', port: 0 });
  const { port } = door.server.address() as AddressInfo;
  const close = async () => {
    door.server.close();
    await door.drain(0);
  };
  return {
    door,
    port,
    clock,
    meter,
    tokens,
    errors,
    close,
    async ask(method, path, body, headers = {}) {
      const isText = typeof body === 'string' || body instanceof Uint8Array;
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
        ...(body !== undefined && { body: isText ? (body as string) : JSON.stringify(body) }),
      });
      const text = await response.text();
      const type = response.headers.get('content-type') ?? '';
      const json = type.includes('json') && text !== '' ? JSON.parse(text) : undefined;
      return { status: response.status, headers: response.headers, type, text, json };
    },
  };
}

export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A connection that sends what it is told, and reads responses one by one. */
export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #received = '';
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(port: number, { allowHalfOpen = false } = {}) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
    this.socket.setNoDelay(true);
    this.socket.on('error', () => {});
    this.socket.on('data', (data) => {
      this.#received += data.toString('latin1');
      this.#wake?.();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.#isClosed = true;
        this.#wake?.();
        resolve();
      });
    });
  }

  async send(...parts: (string | Buffer)[]): Promise<void> {
    for (const part of parts) {
      await new Promise<void>((resolve) => this.socket.write(part, 'latin1', () => resolve()));
      // The parts must not meet in one packet: the other side reads in between.
      if (parts.length > 1) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The next response; undefined when the connection ended before it was whole. */
  async response(): Promise<RawResponse | undefined> {
    for (;;) {
      const found = this.#next();
      if (found || this.#isClosed) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #next(): RawResponse | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [first = '', ...lines] = this.#received.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const length = Number(headers['content-length'] ?? 0);
    const start = end + 4;
    if (this.#received.length < start + length) return undefined;
    const body = Buffer.from(this.#received.slice(start, start + length), 'latin1').toString('utf8');
    this.#received = this.#received.slice(start + length);
    return { status: Number(first.split(' ')[1]), headers, body };
  }

  close(): void {
    this.socket.destroy();
  }
}

/** A check as a client sends it. */
export function checkBytes(body: unknown, headers: readonly string[] = []): string {
  const text = typeof body === 'string' ? body : Buffer.from(JSON.stringify(body)).toString('latin1');
  const lines = ['Host: sluice', 'Content-Type: application/json', `Content-Length: ${text.length}`, ...headers];
  return `POST /v1/check HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`;
}
