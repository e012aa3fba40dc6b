// nginx with limit_req, from Debian's package. It limits before it serves a file, and files are served to GET only: its user comes
// in the address and it reads no body.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureDebianPackage } from '@sluice/test-servers';
import { onCore, serverCore } from './cores.mjs';

/** @param {string} body */
export async function startNginx(body) {
  const program = await ensureDebianPackage('nginx', ['nginx-light']);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-nginx-'));
  const port = await freePort();
  writeFileSync(join(folder, 'check'), body);
  writeFileSync(join(folder, 'nginx.conf'), config(folder, port));
  const command = onCore(serverCore, program, ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr']);
  const child = spawn(...command, { stdio: ['ignore', 'ignore', 'inherit'] });
  await isListening(port);
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

/** @param {string} folder @param {number} port */
function config(folder, port) {
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
      # Asked for the same file all the time.
      open_file_cache max=10;
      limit_req_zone $arg_user zone=users:64m rate=1000r/s;
      server {
        listen 127.0.0.1:${port};
        location = /v1/check {
          limit_req zone=users burst=1000 nodelay;
          default_type application/json;
          alias ${folder}/check;
        }
      }
    }`;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('no port was free');
  return address.port;
}

/** @param {number} port */
async function isListening(port) {
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(25);
  }
  throw new Error(`nginx does not listen on port ${port}`);
}
