/** The service itself, as users run it: the built program in a process of its own, on free ports. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EndingSignal, type OwnedProcess, startProcess } from './owned-process.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

const program = fileURLToPath(new URL('../../server/program/main.js', import.meta.url));

export interface SluiceOptions {
  /** The configuration, YAML. */
  readonly config?: string;
  /** More arguments of `sluice serve`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface SluiceService {
  readonly pid: number;
  /** Its folder, with `sluice.yaml`. */
  readonly folder: string;
  readonly url: string;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly respPort: number;
  readonly state: OwnedProcess['state'];
  /** What it has in memory now. */
  residentMb(): number;
  /** Everything it has said. */
  log(): string;
  /** Writes the configuration in place. It watches the file. */
  configure(config: string): void;
  signal(signal: NodeJS.Signals): void;
  pause(): Promise<void>;
  resume(): void;
  /** Ends it and waits for the end. */
  end(signal?: EndingSignal): Promise<void>;
  /** Starts it again in the same folder, on other ports. */
  restart(): Promise<void>;
  /** Ends it, if it runs, and removes its folder. */
  stop(): Promise<void>;
}

export async function startSluice({ config, args = [], env = {} }: SluiceOptions = {}): Promise<SluiceService> {
  const folder = temporaryFolder('service');
  const configFile = join(folder, 'sluice.yaml');
  const logFile = join(folder, 'log');
  if (config !== undefined) writeFileSync(configFile, config);
  let starts = 0;
  let owned = await start();
  let ports = await portsOf();

  function start(): Promise<OwnedProcess> {
    starts += 1;
    return startProcess({
      command: process.execPath,
      args: [program, 'serve', ...(config === undefined ? [] : ['--config', configFile]), ...args],
      folder,
      logFile,
      env: { SLUICE_LISTEN_HTTP: '0', SLUICE_LISTEN_GRPC: '0', SLUICE_LISTEN_RESP: '0', ...env },
    });
  }

  /** Where it said that it listens, once for each start. */
  function said(): Record<string, string>[] {
    return readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"msg":"listening"'))
      .map((line) => (JSON.parse(line) as { listening: Record<string, string> }).listening);
  }

  async function portsOf(): Promise<{ http: number; grpc: number; resp: number }> {
    await waitUntil('the service listens', () => {
      if (owned.state === 'ended') throw new GaveUp(`The service ended: ${owned.log()}`);
      return said().length === starts;
    });
    const last = said().at(-1) ?? {};
    const portOf = (name: string) => Number(last[name]?.split(':').at(-1) ?? Number.NaN);
    return { http: portOf('http'), grpc: portOf('grpc'), resp: portOf('resp') };
  }

  return {
    get pid() {
      return owned.pid;
    },
    folder,
    get url() {
      return `http://127.0.0.1:${ports.http}`;
    },
    get httpPort() {
      return ports.http;
    },
    get grpcPort() {
      return ports.grpc;
    },
    get respPort() {
      return ports.resp;
    },
    get state() {
      return owned.state;
    },
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${owned.pid}/status`, 'utf8'))?.[1]) / 1024,
    log: () => readFileSync(logFile, 'utf8'),
    configure: (text) => writeFileSync(configFile, text),
    signal: (signal) => process.kill(owned.pid, signal),
    pause: () => owned.pause(),
    resume: () => owned.resume(),
    end: (signal = 'SIGTERM') => owned.end(signal),
    async restart() {
      await owned.end('SIGTERM');
      owned = await start();
      ports = await portsOf();
    },
    async stop() {
      await owned.end('SIGKILL');
      removeFolder(folder);
    },
  };
}
