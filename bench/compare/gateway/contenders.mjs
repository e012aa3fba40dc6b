// Who is measured, each a process of its own on the server's core.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, isListening, startNginx } from '../nginx.mjs';
import { onCore, serverCore } from '../service/cores.mjs';
import { startContender } from '../service/server-process.mjs';

const command = fileURLToPath(new URL('../../../packages/server/bin/sluice.mjs', import.meta.url));

/** @typedef {{ name: string, pid: number, port: number, stop(): Promise<void> }} Contender */

/** @param {number} upstreamPort @returns {Promise<Contender[]>} */
export async function startContenders(upstreamPort) {
  /** @type {[name: string, start: () => Promise<Omit<Contender, 'name'>>][]} */
  const all = [
    ['sluice gateway', () => startGateway(upstreamPort, {})],
    ['sluice gateway, a rule and admission', () => startGateway(upstreamPort, limited)],
    ['http-proxy', () => startContender('../gateway/http-proxy.mjs', [String(upstreamPort)])],
    ['fast-proxy', () => startContender('../gateway/fast-proxy.mjs', [String(upstreamPort)])],
    ['node:http and undici', () => startContender('../gateway/undici.mjs', [String(upstreamPort)])],
    ['nginx, proxy_pass', () => startNginx((_folder, port) => proxyPass(port, upstreamPort))],
  ];
  /** @type {Contender[]} */
  const started = [];
  try {
    for (const [name, start] of all) started.push({ name, ...(await start()) });
  } catch (error) {
    for (const { stop } of started) await stop();
    throw error;
  }
  return started;
}

/** Nobody reaches the limit, and there is a place for everybody: what is measured is the asking. */
const limited = {
  rules: [{ name: 'per-ip', key: 'ip', algorithm: 'gcra', limit: 1_000_000, window: '1s' }],
  admissions: { main: { concurrency: 1000, queue: 1000, tenant: 'header:x-user' } },
  route: { rules: ['per-ip'], admission: 'main' },
};

/**
 * @param {number} upstreamPort
 * @param {{ rules?: object[], admissions?: object, route?: object }} extras
 */
async function startGateway(upstreamPort, { rules = [], admissions, route }) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-gateway-'));
  const port = await freePort();
  const file = join(folder, 'sluice.yaml');
  const gateway = {
    listen: `127.0.0.1:${port}`,
    admin: false,
    ...(admissions && { admissions }),
    routes: [{ name: 'all', upstream: 'items', ...route }],
    upstreams: { items: { members: [`127.0.0.1:${upstreamPort}`] } },
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rules, gateway, logs: { level: 'warn' } }));
  const child = spawn(...onCore(serverCore, process.execPath, [command, 'gateway', '--config', file]), {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await isListening(port, 'sluice gateway');
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

/** @param {number} port @param {number} upstreamPort */
function proxyPass(port, upstreamPort) {
  return `
    upstream items { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000000; }
    server {
      listen 127.0.0.1:${port};
      location / {
        proxy_pass http://items;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
      }
    }`;
}
