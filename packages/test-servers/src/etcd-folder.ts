/**
 * A folder for one member of etcd, in memory where there is room: every transaction waits for the disks of a majority.
 *
 *   /dev/shm/sluice-<name>-<process>-<random>
 *
 * Memory is not cleared like a disk for temporary files is. So the name says whose it is, and whoever comes next removes what a process that was
 * killed has left.
 */
import { mkdtempSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';

const inMemory = '/dev/shm';

/** Two files of 64 MB that it makes ahead, and some room. */
const memberBytes = 256 * 1024 * 1024;

const folders = new Set<string>();

process.on('exit', () => {
  for (const folder of folders) removeFolder(folder);
});

export function etcdFolder(name: string): string {
  if (!hasRoom()) return temporaryFolder(name);
  const folder = mkdtempSync(join(inMemory, `sluice-${name}-${process.pid}-`));
  folders.add(folder);
  return folder;
}

/** For this member and for those who look at the same moment. */
function hasRoom(): boolean {
  try {
    removeAbandoned();
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize > 8 * memberBytes;
  } catch {
    return false; // No such folder on this system: the data lies with the other temporary files.
  }
}

function removeAbandoned(): void {
  for (const name of readdirSync(inMemory)) {
    const owner = name.match(/^sluice-etcd-\d+-(\d+)-/)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) removeFolder(join(inMemory, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process may not be signalled; it is alive all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
