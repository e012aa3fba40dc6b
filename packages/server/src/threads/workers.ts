/**
 * The threads that speak with clients. The first one opens each listening socket, the others listen on the same one: the kernel
 * gives every connection to one of them.
 *
 * The socket has one number in the process. Whoever closes it closes it for all, so only the first thread does; and a thread that
 * dies takes it along, which ends the service (a supervisor starts it again) rather than leave it deaf.
 */
import { Worker } from 'node:worker_threads';
import type { ListenConfig } from '../config/config.ts';
import type { DoorName } from '../operations/metrics.ts';
import { programs } from '../programs.ts';
import { type Channel, openChannel } from './channel.ts';
import { doorNames, type Listening } from './doors.ts';
import type { ThreadSettings } from './thread-settings.ts';
import type { WorkerMeasures, WorkerOrders } from './worker.ts';

export interface Workers {
  readonly listening: Readonly<Partial<Record<DoorName, Listening>>>;
  measure(): Promise<readonly WorkerMeasures[]>;
  /** After a reload. */
  configure(settings: ThreadSettings): void;
  /** Finishes what was begun, at most so long, and closes all connections. */
  drain(timeoutMs: number): Promise<void>;
  /** Ends the threads; the last thing to do. */
  end(): Promise<void>;
}

export interface WorkersOptions {
  readonly count: number;
  readonly orders: WorkerOrders;
  /** What threads may ask of this one. */
  // biome-ignore lint/suspicious/noExplicitAny: what travels is known to the two sides only
  readonly handlers: Readonly<Record<string, (...args: any[]) => unknown>>;
  /** A thread ended by itself. */
  onDeath(error: unknown): void;
}

export async function startWorkers({ count, orders, handlers, onDeath }: WorkersOptions): Promise<Workers> {
  let isEnding = false;
  const threads = Array.from({ length: count }, () => {
    const worker = new Worker(programs.worker, { workerData: orders });
    worker.on('error', (error) => {
      if (!isEnding) onDeath(error);
    });
    worker.on('exit', (code) => {
      if (!isEnding) onDeath(new Error(`a thread ended with code ${code}`));
    });
    return { worker, channel: openChannel(worker, handlers) };
  });
  const channels = threads.map(({ channel }) => channel);
  const listening = await listenAll(channels, orders.listen);
  return {
    listening,
    measure: () => Promise.all(channels.map(({ call }) => call<WorkerMeasures>('measure'))),
    configure(settings) {
      // A thread that cannot be told is ending.
      for (const { call } of channels) call('configure', settings).catch(onDeath);
    },
    async drain(timeoutMs) {
      isEnding = true;
      await channels[0]?.call('stopListening');
      await Promise.all(channels.map(({ call }) => call('drain', timeoutMs)));
    },
    async end() {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}

async function listenAll(
  [first, ...others]: readonly Channel[],
  listen: ListenConfig,
): Promise<Partial<Record<DoorName, Listening>>> {
  const listening: Partial<Record<DoorName, Listening>> = {};
  for (const name of doorNames) {
    const address = listen[name];
    if (address === undefined || first === undefined) continue;
    const opened = await first.call<Listening>('listen', name, address);
    listening[name] = opened;
    await Promise.all(others.map(({ call }) => call('listen', name, { fd: opened.fd })));
  }
  return listening;
}
