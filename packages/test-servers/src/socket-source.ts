/**
 * Whose connection is it? A proxy on loopback sees nothing but a port, and all addresses look alike; the kernel knows which process has the other
 * end. That is what a network would tell apart by the machine that a connection comes from.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Which of the processes has the socket that goes from `port` to `toPort`; undefined: none of them. */
export function processOfSocket(pids: readonly number[], port: number, toPort: number): number | undefined {
  const inode = inodeOf(port, toPort);
  return inode === undefined ? undefined : pids.find((pid) => hasSocket(pid, inode));
}

// "  12: 0100007F:8A3C 0200007F:5DC1 01 ... inode": addresses and ports in hexadecimal, the inode is the tenth field.
function inodeOf(port: number, toPort: number): string | undefined {
  const [from, to] = [port, toPort].map((each) => each.toString(16).toUpperCase().padStart(4, '0')) as [string, string];
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(`:${from}`) && fields[2]?.endsWith(`:${to}`)) return fields[9];
  }
  return undefined;
}

function hasSocket(pid: number, inode: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((name) => isSocket(`${folder}/${name}`, inode));
  } catch {
    return false; // The process has ended: it has no sockets.
  }
}

function isSocket(path: string, inode: string): boolean {
  try {
    return readlinkSync(path) === `socket:[${inode}]`;
  } catch {
    return false; // Closed since the folder was read.
  }
}
