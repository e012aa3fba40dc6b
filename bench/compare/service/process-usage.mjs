// What a process has taken of the machine, read from Linux.
import { readFileSync } from 'node:fs';

const usPerTick = 10_000;

/** Processor time of all threads, since it started; of several processes together. @param {number | readonly number[]} pids */
export function processorUs(pids) {
  return [pids].flat().reduce((sum, pid) => sum + processorUsOf(pid), 0);
}

/** @param {number} pid */
function processorUsOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return usPerTick * (Number(fields[11]) + Number(fields[12]));
}

/** @param {number} pid */
export function rssBytes(pid) {
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
