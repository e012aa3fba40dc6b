/**
 * A front door: it speaks one protocol and asks the service. All of them are opened, drained and closed alike.
 *
 *      const door = respDoor(service, settings);
 *      await door.listen({ host, port })     or     await door.listen({ fd })      (a socket that another thread opened)
 *      await door.drain(timeoutMs)           no new connections; what was begun is finished; then everything is closed
 */
import type { Server } from 'node:net';
import type { ClusterDoor } from '../cluster/view.ts';
import type { LimitsConfig } from '../config/config.ts';
import type { DoorMeter } from './door-meter.ts';
import type { Log } from './log.ts';
import type { Tokens } from './tokens.ts';

/** What every door is given. */
export interface DoorSettings {
  readonly limits: LimitsConfig;
  readonly tokens: Tokens;
  /** Certificate, key and authority already read; undefined: plain TCP. */
  readonly tls: TlsFiles | undefined;
  readonly meter: DoorMeter;
  readonly log: Log;
  /** The node of a cluster that this is; undefined: a server of its own. */
  readonly cluster?: ClusterDoor | undefined;
}

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Clients must show a certificate of this authority. */
  readonly ca: Buffer | undefined;
}

export type ListenOn = { readonly host: string; readonly port: number } | { readonly fd: number };

export interface Door {
  /** The listening socket, for its address and its file descriptor. */
  readonly server: Server;
  listen(on: ListenOn): Promise<void>;
  /** Finishes what was begun, at most so long, and closes all connections. The listening socket is closed by whoever opened it. */
  drain(timeoutMs: number): Promise<void>;
}
