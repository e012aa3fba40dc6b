// wrk as a generator: 64 connections that are kept, one request at a time on each.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureDebianPackage } from '@sluice/test-servers';
import { generatorCore, onCore } from './cores.mjs';

const execute = promisify(execFile);
const script = fileURLToPath(new URL('wrk.lua', import.meta.url));
export const connections = 64;
export const users = 100_000;
const userDigits = 12;

/** The request's bytes before and after the user. @typedef {readonly [before: string, after: string]} Request */

/** @param {number} port @returns {Request} */
export function postCheck(port) {
  const [bodyBefore, bodyAfter] = ['{"subject":{"user":"', '"}}'];
  const bodyBytes = bodyBefore.length + userDigits + bodyAfter.length;
  const head = [
    'POST /v1/check HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    `Content-Length: ${bodyBytes}`,
  ];
  return [`${head.join('\r\n')}\r\n\r\n${bodyBefore}`, bodyAfter];
}

/** @param {number} port @returns {Request} */
export function getCheck(port) {
  return ['GET /v1/check?user=', ` HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`];
}

/**
 * @param {string} name
 * @param {{ pid: number, port: number }} server
 * @param {(port: number) => Request} request
 * @returns {Promise<import('./race.mjs').Lane>}
 */
export async function wrkLane(name, { pid, port }, request) {
  const program = await ensureDebianPackage('wrk', ['wrk']);
  const [before, after] = request(port);
  return {
    name,
    pid,
    async lap(ms) {
      const options = ['-t', '1', '-c', String(connections), '-d', `${Math.round(ms / 1000)}s`, '-s', script];
      const args = [...options, `http://127.0.0.1:${port}`, '--', before, String(users), after];
      const { stdout } = await execute(...onCore(generatorCore, program, args), { timeout: ms + 60_000 });
      const { requests, us, errors, p50Us, p99Us } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
      return { requests, ms: us / 1000, p50Ms: p50Us / 1000, p99Ms: p99Us / 1000, errors };
    },
  };
}
