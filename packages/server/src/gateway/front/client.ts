/** Who is at the other end of a connection. */
import type { Socket } from 'node:net';
import type { Client } from '../exchange.ts';

export function clientOf(socket: Socket, isTls: boolean, protocol: Client['protocol']): Client {
  return {
    address: plainAddress(socket.remoteAddress),
    port: socket.remotePort ?? 0,
    localPort: socket.localPort ?? 0,
    isTls,
    protocol,
  };
}

/** Of a client that has left already there is none. IPv4 looks like IPv6 on a socket that takes both. */
function plainAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
