/**
 * Behind a fence, what Redis may have lost is refused instead of given out a second time.
 *
 * Redis acknowledges writes before its replicas have them. After a failover the promoted replica knows less than was granted,
 * and a limiter on top of it starts, for some keys, from an older count. The fence notices: every partition of the keys has a
 * guard that names the replication id of the server under which it was written, and each call compares it, on the server, with
 * the id of now. See docs/guides/redis.md for what that does and does not guarantee.
 */
import { SluiceError } from '../../../vocabulary/errors.ts';
import type { Connection } from '../connection.ts';
import { type Call, unavailable } from '../dispatcher.ts';
import { parts, twins } from '../lua.generated.ts';
import { sha1, sourceOf } from '../script.ts';
import { checkSettings } from './settings.ts';

export interface FenceTimes {
  /** An answer that took longer counts as none. */
  readonly deadlineMs: number;
  /** How far the clocks of server and client may differ. */
  readonly skewMs: number;
  /** How long a deposed server may go on answering; undefined: read from the server. */
  readonly nodeTimeoutMs: number | undefined;
  /** How much longer than they matter keys are kept, should the server's clock jump. */
  readonly graceMs: number;
}

export interface Fence {
  /** Calls behind the fence. */
  readonly call: Call;
  /** Resolves when the settings were found good, the function is loaded and every partition was swept. */
  ready(): Promise<void>;
  /** How often a partition was found changed. */
  trips(): number;
}

const noFunction = /function not found/i;
const sweepsAtOnce = 256;
const sweepPauseMs = 1000;

/**
 * @param guards the guard key of every partition
 * @param guardOf the guard of the partition of a key in Redis
 */
export function fenceOf(
  connection: Connection,
  times: FenceTimes,
  guards: readonly string[],
  guardOf: (key: string) => string,
): Fence {
  const library = libraryOf();
  let started: Promise<void> | undefined;
  let marginMs = 0;
  let tripped = 0;
  let sweeping: Promise<void> | undefined;
  let sweptMs = Number.NEGATIVE_INFINITY;

  async function start(): Promise<void> {
    const primaries = await connection.primaries();
    const timeoutsMs = await Promise.all(primaries.map(checkSettings));
    marginMs = (times.nodeTimeoutMs ?? Math.max(0, ...timeoutsMs)) + times.deadlineMs;
    await load();
    await sweep();
  }

  async function load(): Promise<void> {
    const { source } = await library;
    await Promise.all((await connection.primaries()).map((send) => send(['FUNCTION', 'LOAD', 'REPLACE', source])));
  }

  /** Has every partition looked at now, so that nobody pays for the first look later. */
  async function sweep(): Promise<void> {
    for (let from = 0; from < guards.length; from += sweepsAtOnce) {
      await Promise.all(guards.slice(from, from + sweepsAtOnce).map((guard) => callBehind(guard, ['0', '', '', ''])));
    }
  }

  /** In the background, one at a time, not more often than every second. What fails shows in the calls themselves. */
  function sweepSoon(): void {
    if (sweeping || performance.now() - sweptMs < sweepPauseMs) return;
    sweptMs = performance.now();
    sweeping = sweep()
      .catch(() => undefined)
      .finally(() => {
        sweeping = undefined;
      });
  }

  /** Calls the function with the keys and arguments of a message, and the guard. */
  async function callBehind(guard: string, [count = '0', ...rest]: readonly string[]): Promise<unknown> {
    const keys = rest.slice(0, Number(count));
    const args = rest.slice(Number(count));
    const sentMs = performance.now();
    const fence = `${Date.now()} ${times.skewMs} ${marginMs} ${times.graceMs}`;
    const { name } = await library;
    const command = ['FCALL', name, String(keys.length + 1), ...keys, guard, ...args, fence];
    const reply = await connection.send(guard, command);
    const tookMs = performance.now() - sentMs;
    // A server that was paused answers what waited in its sockets, before it learns that another took its place.
    if (tookMs > times.deadlineMs) {
      throw new SluiceError(
        'store-unavailable',
        `Redis answered after ${Math.ceil(tookMs)} ms, too late to be trusted.`,
      );
    }
    if (!Array.isArray(reply)) throw new SluiceError('store-unavailable', 'Redis did not answer with an array.');
    if (reply[0] === 'skew') {
      throw new SluiceError(
        'store-unavailable',
        `The clock of Redis is ${Number(reply[1])} ms ahead of this process; ${times.skewMs} ms either way are allowed.`,
      );
    }
    if (Number(reply[0]) === 1) tripped += 1;
    return reply;
  }

  async function call(guard: string, args: readonly string[]): Promise<unknown> {
    let reply: unknown;
    try {
      reply = await callBehind(guard, args);
    } catch (error) {
      if (!(error instanceof Error && noFunction.test(error.message))) throw error;
      // A server that lost its data lost the function too.
      await load();
      reply = await callBehind(guard, args);
    }
    const [changed, decided] = reply as [unknown, unknown];
    if (Number(changed) === 1) sweepSoon();
    return decided;
  }

  function ready(): Promise<void> {
    // A start that failed is tried again by the next call: the server may have been set right.
    started ??= start().catch((error: unknown) => {
      started = undefined;
      throw unavailable(error);
    });
    return started;
  }

  return {
    async call({ key, args }) {
      await ready();
      try {
        return await call(guardOf(key), args);
      } catch (error) {
        throw unavailable(error);
      }
    },
    ready,
    trips: () => tripped,
  };
}

/** The function that all calls behind a fence are by, named after what it does. */
async function libraryOf(): Promise<{ readonly name: string; readonly source: string }> {
  const made = `${sourceOf(Object.keys(twins))}\n${parts.fence}\nreturn run_behind`;
  const body = `local function make()\n${made}\nend\n${parts.library}`;
  const name = `sluice_${(await sha1(body)).slice(0, 12)}`;
  return { name, source: `#!lua name=${name}\n${body.replace('FUNCTION_NAME', name)}` };
}
