/**
 * Ports that no other test takes, in any process, for as long as they are held.
 *
 * Asking the kernel for "any port" and closing it again is a race, and a server that is restarted on its port finds
 * that an outgoing connection got it meanwhile. So the ports come from below the range that the kernel hands out, and
 * the UDP port of the same number is the reservation: the servers here speak TCP only, the kernel lets one process
 * have it, and takes it back when that process dies, however it dies.
 */
import { createSocket, type Socket } from 'node:dgram';
import { createServer } from 'node:net';

export interface ReservedPort {
  readonly port: number;
  /** Lets others have it. */
  release(): void;
}

export const loopback = '127.0.0.1';

/** Below 32768, where Linux starts to hand out ports by itself, and above what services are registered for. */
const firstPort = 20_000;
const portCount = 12_000;
const mostAttempts = 500;

export async function reservePort(): Promise<ReservedPort> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    const reservation = await holdUdp(port);
    if (reservation === undefined) continue;
    // Servers that know nothing of the reservations have ports too.
    if (await isTcpFree(port)) return { port, release: closeOnce(reservation) };
    reservation.close();
  }
  throw new Error(
    `No free port found between ${firstPort} and ${firstPort + portCount} in ${mostAttempts} attempts. ` +
      'Stop servers that are left from earlier runs.',
  );
}

function holdUdp(port: number): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined);
      else reject(error);
    });
    socket.bind({ port, address: loopback, exclusive: true }, () => {
      socket.unref();
      resolve(socket);
    });
  });
}

function isTcpFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: loopback, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

function closeOnce(socket: Socket): () => void {
  let isOpen = true;
  return () => {
    if (isOpen) socket.close();
    isOpen = false;
  };
}
