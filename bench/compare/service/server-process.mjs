// Servers that are measured, each a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startSluice as startService } from '@sluice/test-servers';
import { moveToServerCore, onCore, serverCore } from './cores.mjs';

const longestStartMs = 30_000;

/**
 * One of the contenders in this folder; its first line is its port.
 * @param {string} script
 * @param {readonly string[]} args
 */
export async function startContender(script, args = []) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(...onCore(serverCore, process.execPath, [path, ...args]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), longestStartMs);
  const line = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), once(child, 'exit')]);
  clearTimeout(timer);
  const port = Number(line[0]);
  if (!(port > 0) || child.exitCode !== null) throw new Error(`${script} did not start`);
  return {
    pid: child.pid ?? 0,
    port,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof startSluice>>} Sluice */

/**
 * Our service on free ports, with a rule and an Envoy descriptor about users that nobody reaches the limit of.
 * `isRuleLasting`: one check keeps a user in mind for half an hour, rather than for milliseconds.
 * @param {{ workers: number, isOnServerCore?: boolean, isRuleLasting?: boolean }} options
 */
export async function startSluice({ workers, isOnServerCore = true, isRuleLasting = false }) {
  const limit = isRuleLasting ? 2 : 1_000_000;
  const config = { rules: [{ name: 'per-user', key: 'user', algorithm: 'gcra', limit, window: '1h' }], workers };
  const envoyFolder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  // JSON is YAML.
  writeFileSync(
    join(envoyFolder, 'bench.yaml'),
    JSON.stringify({
      domain: 'bench',
      descriptors: [{ key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 1_000_000 } }],
    }),
  );
  const service = await startService({ config: JSON.stringify(config), args: ['--envoy-config', envoyFolder] });
  if (isOnServerCore) moveToServerCore(service.pid);
  return {
    pid: service.pid,
    http: service.httpPort,
    grpc: service.grpcPort,
    resp: service.respPort,
    async stop() {
      await service.stop();
      rmSync(envoyFolder, { recursive: true });
    },
  };
}
