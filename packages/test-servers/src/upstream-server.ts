/** A plain HTTP server in a process of its own, to stand behind a gateway, and to be killed or stopped there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loopback, reservePort } from './free-port.ts';
import { type EndingSignal, type OwnedProcess, startProcess } from './owned-process.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

const program = fileURLToPath(new URL('../dist/upstream-program.js', import.meta.url));

export interface UpstreamServer {
  readonly name: string;
  readonly port: number;
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** How many requests it had since it was started. */
  requests(): Promise<number>;
  /** SIGSTOP: it stands still, and its sockets stay open. */
  pause(): Promise<void>;
  resume(): void;
  end(signal?: EndingSignal): Promise<void>;
  /** Starts it again, on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** What it answers is described in `upstream-program.ts`. */
export async function startUpstream(name: string): Promise<UpstreamServer> {
  const folder = temporaryFolder('upstream');
  const logFile = join(folder, 'log');
  const reserved = await reservePort();
  const { port } = reserved;
  let starts = 0;
  let owned = await start();

  async function start(): Promise<OwnedProcess> {
    starts += 1;
    const started = await startProcess({
      command: process.execPath,
      args: [program, String(port), name],
      folder,
      logFile,
    });
    await waitUntil(`the upstream ${name} listens`, () => {
      if (started.state === 'ended') throw new GaveUp(`The upstream ${name} ended: ${started.log()}`);
      return readFileSync(logFile, 'utf8').split('listening').length - 1 === starts;
    });
    return started;
  }

  return {
    name,
    port,
    address: `${loopback}:${port}`,
    requests: async () => Number(await (await fetch(`http://${loopback}:${port}/requests`)).text()),
    pause: () => owned.pause(),
    resume: () => owned.resume(),
    end: (signal = 'SIGKILL') => owned.end(signal),
    async restart() {
      await owned.end('SIGKILL');
      owned = await start();
    },
    async stop() {
      await owned.end('SIGKILL');
      reserved.release();
      removeFolder(folder);
    },
  };
}
