// Who runs where. On two cores or more the server has one to itself and the generator another, whoever the contender is: "one core
// each" is then what it says, and nobody gains by threads that others do not have.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const isPossible = availableParallelism() >= 2 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

export const serverCore = isPossible ? '0' : undefined;
export const generatorCore = isPossible ? '1' : undefined;

/** What the tables say about it. */
export const coresInWords = isPossible
  ? 'the server on one core, the generator on the other'
  : 'server and generator share the cores: there are fewer than two, or no taskset';

/**
 * A command that runs on this core only.
 * @param {string | undefined} core undefined: wherever the system lets it
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {[program: string, args: string[]]}
 */
export function onCore(core, program, args) {
  return core === undefined ? [program, [...args]] : ['taskset', ['-c', core, program, ...args]];
}

/** Moves a process that runs already, with all its threads. @param {number} pid */
export function moveToServerCore(pid) {
  move(pid, serverCore);
}

/** @param {number} pid */
export function moveToGeneratorCore(pid) {
  move(pid, generatorCore);
}

/** @param {number} pid @param {string | undefined} core */
function move(pid, core) {
  if (core === undefined) return;
  const { status, stderr } = spawnSync('taskset', ['-a', '-p', '-c', core, String(pid)], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`process ${pid} could not be moved to core ${core}: ${stderr}`);
}
