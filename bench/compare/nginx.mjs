// nginx from Debian's package, one process, as a contender or as what stands behind one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureDebianPackage } from '@sluice/test-servers';
import { onCore, serverCore } from './service/cores.mjs';

/**
 * @param {(folder: string, port: number) => string} http what stands in its `http` block
 * @param {{ core?: string | undefined, files?: Record<string, string> }} [options] where it runs, and what lies in its folder
 */
export async function startNginx(http, { core = serverCore, files = {} } = {}) {
  const program = await ensureDebianPackage('nginx', ['nginx-light']);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-nginx-'));
  const port = await freePort();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, 'nginx.conf'), config(folder, http(folder, port)));
  const command = onCore(core, program, ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr']);
  const child = spawn(...command, { stdio: ['ignore', 'ignore', 'inherit'] });
  await isListening(port, 'nginx');
  return {
    pid: child.pid ?? 0,
    port,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** @param {string} folder @param {string} http */
function config(folder, http) {
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
      keepalive_requests 1000000000;
      ${http}
    }`;
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('no port was free');
  return address.port;
}

/** @param {number} port @param {string} who */
export async function isListening(port, who) {
  for (let tries = 0; tries < 400; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(25);
  }
  throw new Error(`${who} does not listen on port ${port}`);
}
