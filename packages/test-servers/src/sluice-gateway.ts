/** The gateway itself, as users run it: the built program in a process of its own, on free ports. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EndingSignal, type OwnedProcess, startProcess } from './owned-process.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

const program = fileURLToPath(new URL('../../server/program/main.js', import.meta.url));

export interface GatewayProcess {
  readonly pid: number;
  /** Its folder, with `sluice.yaml`. */
  readonly folder: string;
  readonly port: number;
  readonly url: string;
  /** Where metrics and readiness are. */
  readonly adminUrl: string;
  readonly state: OwnedProcess['state'];
  residentMb(): number;
  /** Everything it has said. */
  log(): string;
  /** Writes the configuration in place. It watches the file. */
  configure(config: object): void;
  signal(signal: NodeJS.Signals): void;
  end(signal?: EndingSignal): Promise<void>;
  stop(): Promise<void>;
}

/** @param config as the YAML file has it; it listens on any free port, whatever it says */
export async function startGateway(config: object): Promise<GatewayProcess> {
  const folder = temporaryFolder('gateway');
  const configFile = join(folder, 'sluice.yaml');
  const logFile = join(folder, 'log');
  // JSON is YAML.
  const write = (text: object) => writeFileSync(configFile, JSON.stringify(text));
  write(config);
  const owned = await startProcess({
    command: process.execPath,
    args: [program, 'gateway', '--config', configFile],
    folder,
    logFile,
    env: { SLUICE_GATEWAY_LISTEN: '127.0.0.1:0', SLUICE_GATEWAY_ADMIN: '127.0.0.1:0' },
  });
  const log = () => readFileSync(logFile, 'utf8');

  await waitUntil('the gateway listens', () => {
    if (owned.state === 'ended') throw new GaveUp(`The gateway ended: ${owned.log()}`);
    return log().includes('"msg":"listening"');
  });
  const line = log()
    .split('\n')
    .find((one) => one.includes('"msg":"listening"'));
  const { listening } = JSON.parse(line ?? '{}') as { listening: Record<string, string> };
  const portOf = (name: string) => Number(listening[name]?.split(':').at(-1) ?? Number.NaN);

  return {
    pid: owned.pid,
    folder,
    port: portOf('gateway'),
    url: `http://127.0.0.1:${portOf('gateway')}`,
    adminUrl: `http://127.0.0.1:${portOf('admin')}`,
    get state() {
      return owned.state;
    },
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${owned.pid}/status`, 'utf8'))?.[1]) / 1024,
    log,
    configure: write,
    signal: (signal) => process.kill(owned.pid, signal),
    end: (signal = 'SIGTERM') => owned.end(signal),
    async stop() {
      await owned.end('SIGKILL');
      removeFolder(folder);
    },
  };
}
