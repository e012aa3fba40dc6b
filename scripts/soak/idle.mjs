import { connect } from 'node:net';
import { startSluice } from '@sluice/test-servers';
import { command, throttleClient } from './resp-client.mjs';

const idleConnections = 10_000;
const seconds = 20;

export async function soak() {
  const service = await startSluice({ config: 'workers: 2\n' });
  /** @type {import('node:net').Socket[]} */
  const idle = [];
  try {
    const before = service.residentMb();
    for (let i = 0; i < idleConnections; i += 100) {
      const ports = [service.respPort, service.httpPort];
      const opened = Array.from({ length: 100 }, (_, at) => opening(/** @type {number} */ (ports[(i + at) % 2])));
      idle.push(...(await Promise.all(opened)));
    }
    console.log(`  ${idle.length} idle connections: ${(service.residentMb() - before).toFixed(0)} MB`);
    const { count, lateMs } = await load(service.respPort);
    console.log(
      `  beside them ${(count / seconds).toFixed(0)} checks per second, one at a time on 8 connections; the slowest of 1,000 took ${lateMs.toFixed(1)} ms`,
    );
    const closed = idle.filter(({ destroyed }) => destroyed).length;
    if (closed > 0) throw new Error(`${closed} idle connections were closed`);
  } finally {
    for (const socket of idle) socket.destroy();
    await service.stop();
  }
}

/** @param {number} port */
function opening(port) {
  return new Promise((/** @type {(socket: import('node:net').Socket) => void} */ resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

/** @param {number} port */
async function load(port) {
  const clients = await Promise.all(Array.from({ length: 8 }, () => throttleClient(port)));
  const endMs = performance.now() + 1000 * seconds;
  /** @type {number[]} */
  const tookMs = [];
  await Promise.all(
    clients.map(async ({ send, end }, at) => {
      for (let i = 0; performance.now() < endMs; i += 1) {
        const startMs = performance.now();
        await send(command(['CL.THROTTLE', `c${at}-${i % 100}`, 1000, 1_000_000, 60]), 1);
        tookMs.push(performance.now() - startMs);
      }
      end();
    }),
  );
  tookMs.sort((a, b) => a - b);
  return { count: tookMs.length, lateMs: tookMs[Math.floor(tookMs.length * 0.999)] ?? 0 };
}
