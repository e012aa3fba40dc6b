/** TLS around sockets that somebody else accepted, and counts: it never listens itself. What it hands on is done with its handshake. */
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { DoorSettings, TlsFiles } from './door.ts';

export interface HandshakeOptions {
  /** What has to be spoken inside, by its name in TLS. Undefined: that is not asked. */
  readonly protocol?: string;
}

export function tlsHandshakes(
  { cert, key, ca }: TlsFiles,
  { limits, meter, log }: DoorSettings,
  serve: (socket: TLSSocket) => void,
  { protocol }: HandshakeOptions = {},
): Server {
  const server = createServer(
    {
      cert,
      key,
      ...(ca && { ca, requestCert: true, rejectUnauthorized: true }),
      ...(protocol !== undefined && { ALPNProtocols: [protocol] }),
      minVersion: 'TLSv1.2',
      handshakeTimeout: limits.requestMs,
    },
    (socket) => {
      if (protocol === undefined || socket.alpnProtocol === protocol) serve(socket);
      else socket.destroy();
    },
  );
  server.on('tlsClientError', (error, socket) => {
    meter.malformed += 1;
    log.debug({ err: error }, 'TLS handshake failed');
    socket.destroy();
  });
  return server;
}
