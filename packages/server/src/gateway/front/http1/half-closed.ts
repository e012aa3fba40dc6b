/** A connection whose client has said all it will say: the rest of that can still be read, with its end, and the client still be written to. */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export function halfClosed(socket: Socket, rest: Buffer): Duplex {
  const duplex = new Duplex({
    read() {},
    write: (bytes: Buffer, _encoding, done) => void socket.write(bytes, done),
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.once('close', () => duplex.destroy());
  if (rest.length > 0) duplex.push(rest);
  duplex.push(null);
  return duplex;
}
