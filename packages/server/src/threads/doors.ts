/** The front doors of one thread. */
import { closeSync, openSync } from 'node:fs';
import { type AddressInfo, Server } from 'node:net';
import { devNull } from 'node:os';
import type { ListenConfig } from '../config/config.ts';
import { grpcDoor } from '../grpc/grpc-door.ts';
import { httpDoor } from '../http/http-door.ts';
import type { Site } from '../http/site.ts';
import type { DoorName } from '../operations/metrics.ts';
import { tracedService } from '../operations/traced-service.ts';
import type { Tracing } from '../operations/tracing.ts';
import { respDoor } from '../resp/resp-door.ts';
import type { Door, DoorSettings, ListenOn } from '../service/door.ts';
import { type DoorMeter, doorMeter } from '../service/door-meter.ts';
import type { Service } from '../service/service.ts';

/** Where a door listens: its port, and the number of its socket in this process, by which other threads open the same one. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly fd: number;
}

export interface Doors {
  readonly meters: Readonly<Partial<Record<DoorName, DoorMeter>>>;
  listen(name: DoorName, on: ListenOn): Promise<Listening>;
  /** No new connections. In one thread only: the socket is the same for all. */
  stopListening(): void;
  /** Finishes what was begun, at most so long, and closes all connections. */
  drain(timeoutMs: number): Promise<void>;
}

/** What all doors of a thread are given. */
export interface DoorsSettings extends Omit<DoorSettings, 'meter'> {
  /** What browsers get where the administration is. */
  readonly site: Site | undefined;
}

export const doorNames: readonly DoorName[] = ['http', 'grpc', 'resp', 'admin'];

export function openDoors(
  service: Service,
  listen: ListenConfig,
  { site, ...settings }: DoorsSettings,
  tracing: Tracing,
): Doors {
  const meters: Partial<Record<DoorName, DoorMeter>> = {};
  const doors: Partial<Record<DoorName, Door>> = {};
  for (const name of doorNames) {
    if (listen[name] === undefined) continue;
    const meter = doorMeter();
    meters[name] = meter;
    const traced = tracedService(service, tracing, name === 'admin' ? 'http' : name);
    doors[name] = openDoor(name, traced, { ...settings, meter, site }, listen.admin !== undefined);
  }
  const all = Object.values(doors);
  return {
    meters,
    async listen(name, on) {
      const door = doors[name];
      if (door === undefined) throw new Error(`there is no door ${name}`);
      await door.listen(on);
      const { address, port } = door.server.address() as AddressInfo;
      return { host: address, port, fd: fdOf(door.server) };
    },
    stopListening() {
      for (const { server } of all) {
        const fd = fdOf(server);
        // The close of an HTTP server would also end connections on which a request may just be coming in.
        Server.prototype.close.call(server);
        keepNumber(fd);
      }
    },
    async drain(timeoutMs) {
      await Promise.all(all.map((door) => door.drain(timeoutMs)));
    },
  };
}

/** Node has no public name for the number of a socket, which is all that threads can share. */
function fdOf(server: Server): number {
  return (server as unknown as { _handle: { fd: number } })._handle.fd;
}

/**
 * Other threads still have a listening socket under this number. Whatever the process opened next would get it, and be closed, or
 * listened to, in its stead. So it is taken, for as long as the process lives.
 */
function keepNumber(fd: number): void {
  const others: number[] = [];
  // The lowest free number is given out first.
  for (let held = openSync(devNull, 'r'); held < fd; held = openSync(devNull, 'r')) others.push(held);
  for (const other of others) closeSync(other);
}

function openDoor(
  name: DoorName,
  service: Service,
  settings: DoorsSettings & DoorSettings,
  hasAdministration: boolean,
): Door {
  if (name === 'grpc') return grpcDoor(service, settings);
  if (name === 'resp') return respDoor(service, settings);
  if (name === 'admin') return httpDoor(service, { ...settings, serves: 'administration' });
  return httpDoor(service, { ...settings, serves: hasAdministration ? 'checks' : 'everything' });
}
