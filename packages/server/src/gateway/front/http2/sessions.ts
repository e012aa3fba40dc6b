/**
 * HTTP/2 on sockets that were accepted elsewhere. What a client could do to make it work for nothing is bounded:
 *
 *      streams at once                       `limits.streams`
 *      headers of a request                  `limits.headers` lines, `limits.headBytes` bytes, CONTINUATION frames by nghttp2 (8)
 *      streams opened and reset at once      nghttp2 since 1.57 ends a connection that resets more than 1000, and then 33 a second
 *      (rapid reset, CVE-2023-44487)         (Node 20.8.1 and later has it; Node 20 has no option for the figures)
 *      streams beyond what is allowed        `maxSessionRejectedStreams`
 *      frames that are invalid               `maxSessionInvalidFrames`
 *      PING, SETTINGS                        nghttp2: 1000 answers to them waiting
 */
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { GatewayLimits } from '../../../config/gateway-config.ts';

const pseudoHeaders = 4;

/** Makes a session of a socket, from its first byte on: what was read of it must have been pushed back. */
export function http2Sessions(limits: GatewayLimits): (socket: Socket) => ServerHttp2Session | undefined {
  // It never listens: it is what Node has to make sessions with the options of a server.
  const server = createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.streams,
      // Of each line HTTP/2 counts 32 bytes more than it has.
      maxHeaderListSize: limits.headBytes + 32 * limits.headers,
    },
    maxHeaderListPairs: limits.headers + pseudoHeaders,
    // An answer's head may be as long as a request's, and has some lines of ours.
    maxSendHeaderBlockLength: 64 * 1024 + limits.headBytes + 32 * limits.headers,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
  });
  return (socket) => {
    let made: ServerHttp2Session | undefined;
    server.once('session', (session) => {
      made = session;
    });
    server.emit('connection', socket);
    return made;
  };
}
