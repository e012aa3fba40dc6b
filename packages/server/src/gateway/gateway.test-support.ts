/** A whole gateway in this process, with real members behind it and real sockets in front. */
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from 'sluice';
import { afterEach } from 'vitest';
import { readConfig } from '../config/read-config.ts';
import type { ServiceLog } from '../operations/log.ts';
import { type RunningGateway, startGateway } from './start-gateway.ts';

const toStop: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface TestMember {
  /** `host:port`, as configurations have it. */
  readonly id: string;
  readonly port: number;
  readonly seen: SeenRequest[];
  stop(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;
type Upgrade = (request: IncomingMessage, socket: Duplex) => void;

/** A member that answers with its port, unless told otherwise. Without `upgrade` it does not know upgrades, and answers as ever. */
export async function member(handle?: Handler, port = 0, upgrade?: Upgrade): Promise<TestMember> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
      if (handle) handle(request, response, body);
      else response.end(String(portOf(server)));
    });
  });
  if (upgrade) server.on('upgrade', upgrade);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  toStop.push(stop);
  return { id: `127.0.0.1:${portOf(server)}`, port: portOf(server), seen, stop };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}

export interface TestGateway extends RunningGateway {
  readonly url: string;
  readonly adminUrl: string;
  readonly port: number;
  /** What its log says, a line each: the message and the fields. */
  readonly said: string[];
  /** Another configuration, as if the file had changed. */
  configure(config: object): ReturnType<RunningGateway['service']['reload']>;
}

/** @param config as in the file; `gateway.listen` and `gateway.admin` are free ports */
export async function gateway(
  config: object,
  options: { readonly clock?: Clock; readonly studioFolder?: string } = {},
): Promise<TestGateway> {
  let text = textOf(config);
  const said: string[] = [];
  const read = readConfig({ text });
  if ('problems' in read) throw new Error(read.problems.map(({ path, message }) => `${path} ${message}`).join('\n'));
  const running = await startGateway({
    config: read.config,
    watched: [],
    readConfig: () => readConfig({ text }),
    log: logTo(said),
    ...options,
  });
  toStop.push(() => running.stop());
  const { port } = running.listening.gateway;
  return {
    ...running,
    port,
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${running.listening.admin?.port}`,
    said,
    configure(next) {
      text = textOf(next);
      return running.service.reload();
    },
  };
}

/** JSON is YAML. */
function textOf(config: { readonly gateway?: object }): string {
  const gatewaySection = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', ...config.gateway };
  return JSON.stringify({ drain: '1s', ...config, gateway: gatewaySection });
}

function logTo(said: string[]): ServiceLog {
  const line = (fields: object, message: string) => {
    said.push(`${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? value.stack : value))}`);
  };
  return { level: 'info', debug: () => undefined, info: line, warn: line, error: line, hide() {}, flush() {} };
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** One request on a connection of its own, with its headers as they are given. */
export function ask(url: string, { method = 'GET', headers = {}, body, signal }: AskOptions = {}): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: headers as never, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** The value of a metric, by its labels. */
export async function metric({ adminUrl }: TestGateway, series: string): Promise<number | undefined> {
  const { body } = await ask(`${adminUrl}/metrics`);
  const line = body.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
