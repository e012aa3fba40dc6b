/** One real Redis server on a free loopback port, without persistence unless the configuration asks for it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureRedis } from './debian-package.ts';
import { loopback, reservePort } from './free-port.ts';
import { type EndingSignal, type OwnedProcess, startProcess } from './owned-process.ts';
import { type Reply, type RespConnection, respConnection } from './resp.ts';
import { type ShiftableClock, shiftableClock } from './shiftable-clock.ts';
import { removeFolder, temporaryFolder } from './temporary-folder.ts';
import { GaveUp, waitUntil } from './wait-until.ts';

/** Lines of redis.conf: the value stands there as it is written here, a list makes one line each. */
export type RedisConfig = Readonly<Record<string, string | number | readonly (string | number)[]>>;

export interface RedisOptions {
  /** E.g. `{ 'maxmemory-policy': 'noeviction', appendonly: 'yes' }`. Wins over the defaults of this package. */
  readonly config?: RedisConfig;
  /** Builds and preloads a clock that `shiftClock` can move. Needs a C compiler. Default false. */
  readonly shiftableClock?: boolean;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface RedisServer extends Address {
  /** Of the running process; another one after a restart. */
  readonly pid: number;
  /** Its working folder, with redis.conf, server.log and what it saves. Removed by `stop`. */
  readonly folder: string;
  readonly state: 'running' | 'paused' | 'ended';
  /** Sends one command on a connection of its own and gives the reply; an error reply is thrown as `ReplyError`. */
  call<T extends Reply = Reply>(command: string, ...args: (string | number)[]): Promise<T>;
  /** Ends the process (SIGKILL unless told otherwise) and waits for its end. Its port stays reserved. */
  kill(signal?: EndingSignal): Promise<void>;
  /** SIGSTOP: connections stay open, what is sent waits in the kernel. Resolves when the process stands still. */
  pause(): Promise<void>;
  /** SIGCONT: it goes on where it stood, first with what was sent meanwhile. */
  resume(): void;
  /**
   * Sets how far the server's wall clock stands from the true time, at once and while it runs; 0 puts it right again.
   * TIME and every expiry follow; the timers of its event loop do not. Only with `shiftableClock: true`. Survives a restart.
   */
  shiftClock(offsetMs: number): void;
  /** Starts it again on its port and in its folder, after a SIGTERM if it still runs. What it remembers is up to the configuration. */
  restart(): Promise<void>;
  /** Ends it for good, removes its folder and gives its port back. */
  stop(): Promise<void>;
}

/** What the package itself decides; a configuration that sets it would break the handle. */
const managed = ['port', 'bind', 'dir', 'daemonize', 'logfile', 'pidfile'];

const callTimeoutMs = 10_000;

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { config = {}, shiftableClock: isShiftable = false } = options;
  return startRedisProcess({ name: 'redis', config: { save: '""', appendonly: 'no', ...config }, isShiftable });
}

export interface RedisProcessOptions {
  /** Part of the folder's name. */
  readonly name: string;
  readonly config: RedisConfig;
  /** After the configuration file, e.g. `--sentinel`. */
  readonly args?: readonly string[];
  readonly isShiftable?: boolean;
}

/** What every kind of server of this family shares: Redis alone, as a cluster's node, as a sentinel. */
export async function startRedisProcess(options: RedisProcessOptions): Promise<RedisServer> {
  const { name, config, args = [], isShiftable = false } = options;
  for (const field of managed) {
    if (field in config) throw new RangeError(`config.${field} must not be set: the package chooses it. Leave it out.`);
  }
  const command = await ensureRedis();
  const reserved = await reservePort();
  const { port } = reserved;
  const folder = temporaryFolder(name);
  const configFile = join(folder, 'redis.conf');
  const logFile = join(folder, 'server.log');
  const password = config.requirepass === undefined ? undefined : unquoted(String(config.requirepass));
  let clock: ShiftableClock | undefined;
  let connection: RespConnection | undefined;
  let running: OwnedProcess | undefined;

  async function start(): Promise<void> {
    const env = clock?.env ?? {};
    const started = await startProcess({ command, args: [configFile, ...args], folder, logFile, env });
    running = started;
    await waitUntil(`the Redis on port ${port} answers`, async () => {
      if (started.state === 'ended') throw new GaveUp(`redis-server ended at once:\n${started.log()}`);
      return (await call('PING')) === 'PONG';
    });
  }

  async function call<T extends Reply = Reply>(...command: (string | number)[]): Promise<T> {
    if (!connection?.isOpen) connection = respConnection({ host: loopback, port, password, timeoutMs: callTimeoutMs });
    return (await connection.call(command)) as T;
  }

  async function end(signal: EndingSignal): Promise<void> {
    await running?.end(signal);
    connection?.close();
  }

  async function stop(): Promise<void> {
    await end('SIGKILL');
    removeFolder(folder);
    reserved.release();
  }

  try {
    // Written once: what a server rewrites in its own configuration must be there after a restart.
    writeFileSync(configFile, configLines({ port, bind: loopback, dir: folder, ...config }));
    if (isShiftable) clock = await shiftableClock(folder);
    await start();
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    host: loopback,
    port,
    folder,
    get pid() {
      return running!.pid;
    },
    get state() {
      return running!.state;
    },
    call,
    kill: (signal = 'SIGKILL') => end(signal),
    pause: () => running!.pause(),
    resume: () => running!.resume(),
    shiftClock(offsetMs) {
      if (clock === undefined)
        throw new Error('This server has no clock to shift. Start it with shiftableClock: true.');
      clock.shift(offsetMs);
    },
    async restart() {
      await end('SIGTERM');
      await start();
    },
    stop,
  };
}

function configLines(config: RedisConfig): string {
  return Object.entries(config)
    .flatMap(([field, values]) => [values].flat().map((value) => `${field} ${value}\n`))
    .join('');
}

function unquoted(value: string): string {
  return /^".*"$/.test(value) ? value.slice(1, -1) : value;
}
