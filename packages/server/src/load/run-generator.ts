/** Starts the generator in a process of its own, so that nobody else's work makes its requests late. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programs } from '../programs.ts';
import type { LoadOrder, LoadReport } from './load-order.ts';

const run = promisify(execFile);
/** Beyond the time of the order: to start, to connect, to wait for the last answers. */
const graceMs = 60_000;

export async function runGenerator(order: LoadOrder): Promise<LoadReport> {
  const { stdout } = await run(process.execPath, [programs.generator, JSON.stringify(order)], {
    timeout: order.warmUpMs + order.durationMs + graceMs,
  });
  return JSON.parse(stdout) as LoadReport;
}
