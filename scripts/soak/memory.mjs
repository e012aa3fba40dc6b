import { readFileSync } from 'node:fs';

/**
 * What a process has in memory now, in megabytes.
 * @param {number} pid
 */
export function residentMb(pid) {
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}
