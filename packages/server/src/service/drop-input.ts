/** Closing while bytes arrive would make the kernel discard the last answers, so what a client sends behind them is read and dropped, but not for ever. */
import type { Socket } from 'node:net';

const mostBytes = 1024 * 1024;

/** To be given what arrives from now on. A client that sends too much is cut off. */
export function dropInput(socket: Socket): (chunk: Buffer) => void {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > mostBytes) socket.destroy();
  };
}
