/** The door of whoever runs the gateway: metrics, health, readiness, reload, and all that can be asked of the rules. */
import type { AddressInfo } from 'node:net';
import { SluiceError } from 'sluice';
import type { Address, Config } from '../config/config.ts';
import { httpDoor } from '../http/http-door.ts';
import type { Site } from '../http/site.ts';
import { type RefusedKeys, topRefused } from '../operations/refused-keys.ts';
import type { DoorSettings } from '../service/door.ts';
import { answersOf, type LocalService } from '../service/local-service.ts';
import { readTls } from '../service/read-tls.ts';
import type { Service } from '../service/service.ts';

export interface Administration {
  readonly address: Address;
  close(timeoutMs: number): Promise<void>;
}

export async function openAdministration(
  address: Address,
  service: Service,
  { limits, security }: Config,
  settings: Pick<DoorSettings, 'tokens' | 'meter' | 'log'> & { readonly site: Site | undefined },
): Promise<Administration> {
  const tls = readTls(security.tls);
  const door = httpDoor(service, { ...settings, limits, tls, serves: 'administration' });
  await door.listen(address);
  const { address: host, port } = door.server.address() as AddressInfo;
  return {
    address: { host, port },
    async close(timeoutMs) {
      door.server.close();
      await door.drain(timeoutMs);
    },
  };
}

/** There are none: Envoy asks the service. */
export const noDescriptors = {
  shouldRateLimit(): never {
    throw new SluiceError('unsupported-operation', 'The gateway has no descriptors of Envoy. `sluice serve` does.');
  },
};

/** What the door asks. */
export function administered(
  local: LocalService,
  refusals: RefusedKeys,
  own: Pick<Service, 'reload' | 'status' | 'metrics' | 'readiness'>,
): Service {
  return {
    ...own,
    ...answersOf(local),
    topRefused: (most) => topRefused(refusals.read(), most),
  };
}
