/** Debian's nginx, one process, on a free port of the loopback. */
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ensureDebianPackage } from './debian-package.ts';
import { loopback, reservePort } from './free-port.ts';
import { startProcess } from './owned-process.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

export interface NginxServer {
  readonly port: number;
  readonly url: string;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export function ensureNginx(): Promise<string> {
  return ensureDebianPackage('nginx', ['nginx-light']);
}

/** @param http what stands in its `http` block, given the port to listen on */
export async function startNginx(http: (port: number) => string): Promise<NginxServer> {
  const command = await ensureNginx();
  const folder = temporaryFolder('nginx');
  const reserved = await reservePort();
  const { port } = reserved;
  writeFileSync(join(folder, 'nginx.conf'), configOf(folder, http(port)));
  const logFile = join(folder, 'log');
  const args = ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr'];
  const owned = await startProcess({ command, args, folder, logFile });
  await waitUntil('nginx listens', () => {
    if (owned.state === 'ended') throw new GaveUp(`nginx ended: ${owned.log()}`);
    return isListening(port);
  });
  return {
    port,
    url: `http://${loopback}:${port}`,
    async stop() {
      await owned.end('SIGKILL');
      reserved.release();
      removeFolder(folder);
    },
  };
}

function configOf(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    error_log stderr crit;
    events { worker_connections 1024; }
    http {
      access_log off;
      ${temporary.join('\n      ')}
      ${http}
    }`;
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
