/** A thread that speaks with clients. The main thread has the rules and their state; it says when to listen and when to end. */
import { parentPort, workerData } from 'node:worker_threads';
import { type SharedMemoryStore, sharedMemoryStore, tickClock } from 'sluice';
import type { LimitsConfig, ListenConfig, TracingConfig } from '../config/config.ts';
import { readSite } from '../http/site.ts';
import { CheckMeter, type CheckMeterData } from '../operations/check-meter.ts';
import { serviceLog } from '../operations/log.ts';
import type { DoorName } from '../operations/metrics.ts';
import { type RefusedKeysData, refusedKeys } from '../operations/refused-keys.ts';
import { startTracing } from '../operations/tracing.ts';
import type { ListenOn, TlsFiles } from '../service/door.ts';
import type { DoorMeter } from '../service/door-meter.ts';
import { ThrottleService } from '../service/throttle-service.ts';
import { Tokens } from '../service/tokens.ts';
import { openChannel } from './channel.ts';
import { openDoors } from './doors.ts';
import { remoteService } from './remote-service.ts';
import { applySettings, type ThreadSettings } from './thread-settings.ts';

export interface WorkerOrders {
  readonly listen: ListenConfig;
  readonly limits: LimitsConfig;
  readonly settings: ThreadSettings;
  readonly tls: TlsFiles | undefined;
  readonly tracing: TracingConfig | undefined;
  /** Memory for CL.THROTTLE; undefined: the main thread answers it. */
  readonly buffer: SharedArrayBuffer | undefined;
  /** Where the studio was built; undefined: there is none. */
  readonly studio: string | undefined;
}

/** What a thread has counted. */
export interface WorkerMeasures {
  readonly checks: CheckMeterData;
  readonly refusals: RefusedKeysData;
  readonly doors: Readonly<Partial<Record<DoorName, DoorMeter>>>;
}

const orders = workerData as WorkerOrders;
if (parentPort === null) throw new Error('this file runs in a thread of the service');

const tokens = new Tokens(orders.settings.tokens);
const checks = new CheckMeter();
const refusals = refusedKeys();
const log = serviceLog({ level: orders.settings.logLevel, secrets: orders.settings.secrets });
const tracing = await startTracing(orders.tracing, log);
const shared = orders.buffer && sharedStore(orders.buffer);

const channel = openChannel(parentPort, {
  listen: (name: DoorName, on: ListenOn) => doors.listen(name, on),
  configure: (settings: ThreadSettings) => applySettings(settings, { tokens, log }),
  stopListening: () => doors.stopListening(),
  async drain(timeoutMs: number): Promise<void> {
    await doors.drain(timeoutMs);
    await tracing.shutdown();
    log.flush();
  },
  measure: (): WorkerMeasures => ({ checks: checks.read(), refusals: refusals.read(), doors: doors.meters }),
});

const main = remoteService(channel, shared && new ThrottleService(shared, checks, refusals));
const { listen, limits, tls, studio } = orders;
const site = studio === undefined ? undefined : readSite(studio);
const doors = openDoors(main, listen, { limits, tls, tokens, log, site }, tracing);

/** On the clock that all threads share, read once for the commands that came together. */
function sharedStore(buffer: SharedArrayBuffer): SharedMemoryStore {
  const { clock } = sharedMemoryStore({ buffer });
  return sharedMemoryStore({ buffer, clock: tickClock(clock) });
}
