/**
 * Behind a fence, what Redis may have lost is refused instead of given out a second time.
 *
 * Redis acknowledges writes before its replicas have them. After a failover the promoted replica knows less than was granted,
 * and a limiter on top of it starts, for some keys, from an older count. The fence notices: every partition of the keys has a
 * guard that names the replication id of the server under which it was written, and each call compares it, on the server, with
 * the id of now. See docs/guides/redis.md for what that does and does not guarantee.
 */
import { SluiceError } from '../../../vocabulary/errors.ts';
import { slotOf } from '../../slot.ts';
import type { Connection, Send } from '../connection.ts';
import { answerTo, type Call, nextCall, unavailable } from '../dispatcher.ts';
import { parts, twins } from '../lua.generated.ts';
import { sha1, sourceOf } from '../script.ts';
import { checkSettings, isDenied, type Surroundings, slotsOf } from './settings.ts';

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
  /**
   * Resolves when the settings were found good, the function is loaded and every partition was swept, of all servers that
   * answer. The partitions of the others fail until they were looked at too.
   */
  ready(): Promise<void>;
  /** How often a partition was found changed. */
  trips(): number;
}

const noFunction = /function not found/i;
const alreadyLoaded = /already exists/i;
const sweepsAtOnce = 256;
const sweepRounds = 3;
// A client may have to connect first.
const startMs = 10_000;
// Of one server about its settings: all wait for the slowest.
const answerMs = 3000;
const mostProbes = 16;
const lookPauseMs = 1000;
// How often a call is made whose server is not sure of its place.
const mostTries = 3;

interface Server {
  readonly slots: ReadonlySet<number>;
  readonly found?: Surroundings;
  readonly failure?: unknown;
}

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
  const { deadlineMs, skewMs, graceMs } = times;
  const library = libraryOf();
  const clock = steadyClock(skewMs);
  let started: Promise<void> | undefined;
  let failed: { readonly error: SluiceError; readonly atMs: number } | undefined;
  let loading: Promise<void> | undefined;
  let limits = '';
  let deposedMs = 0;
  let tripped = 0;
  let looking: Promise<void> | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let due = new Set(guards);
  // Those that were never swept, or whose server is not fit, and why. They are due, and not called.
  const closed = new Map<string, unknown>(guards.map((guard) => [guard, undefined]));

  /**
   * The settings of whoever is primary now, the function, and every partition that is due. A server that does not answer keeps
   * its own partitions waiting, and nobody else's.
   */
  async function look(isStart: boolean): Promise<void> {
    // A client that is still connecting does not know the primaries; this waits for it. Some may be on a server that is down.
    const probes = [...due].slice(0, mostProbes).map((guard) => connection.send(guard, ['EXISTS', guard]));
    await inTime(Promise.any(probes), isStart ? startMs : answerMs).catch((error: unknown) => {
      if (isStart) throw error instanceof AggregateError ? error.errors[0] : error;
    });
    const servers = await Promise.all((await inTime(connection.primaries(), startMs)).map(serverOf));
    let silent: unknown = nobodyHasIt();
    for (const { slots, failure } of servers) {
      if (!isUnsafe(failure)) {
        silent = failure ?? silent;
        continue;
      }
      if (isStart) throw failure;
      for (const guard of guards.filter((each) => slots.has(placeOf(each)))) {
        closed.set(guard, failure);
        due.add(guard);
      }
    }
    const fit = servers.filter(({ found }) => found);
    if (fit.length > 0) {
      limitBy(fit.flatMap(({ found }) => found ?? []));
      await load();
    }
    const served = new Set(fit.flatMap(({ slots }) => [...slots]));
    // Of two that claim a slot both have to be fit: which of them the client goes to is not known here.
    for (const { slots, found } of servers) if (!found) for (const slot of slots) served.delete(slot);
    for (const guard of due) {
      if (closed.has(guard) && !served.has(placeOf(guard)) && !isUnsafe(closed.get(guard))) closed.set(guard, silent);
    }
    await sweep(served, isStart ? sweepRounds : 1);
    if (closed.size === guards.length) throw closed.get(guards[0] as string);
  }

  const placeOf = (guard: string) => (connection.isCluster ? slotOf(guard) : 0);

  /** What one primary serves, and what was found there or why nothing was. */
  async function serverOf(send: Send): Promise<Server> {
    let slots = new Set(connection.isCluster ? [] : [0]);
    try {
      if (connection.isCluster) slots = await inTime(slotsOf(send), answerMs);
      return { slots, found: await inTime(checkSettings(send), answerMs) };
    } catch (failure) {
      return { slots, failure };
    }
  }

  function limitBy(found: readonly Surroundings[]): void {
    const foundMs = Math.max(...found.map((each) => each.deposedMs));
    // Where it is certain that a server may be replaced, the caller can make it longer and not shorter.
    const isLeast = connection.isCluster || found.some((each) => each.isWatched);
    const neededMs = isLeast ? Math.max(foundMs, times.nodeTimeoutMs ?? 0) : (times.nodeTimeoutMs ?? foundMs);
    // Never shorter than it was: a server that does not answer now may be the one that goes on for longest.
    deposedMs = Math.max(deposedMs, neededMs);
    // The nodes of a cluster go by their own time-out, whatever the caller says.
    const silenceMs = connection.isCluster ? foundMs : (times.nodeTimeoutMs ?? foundMs);
    limits = [skewMs, deposedMs + deadlineMs, graceMs, silenceMs].join(' ');
  }

  /** Once for all who found the function missing at the same time. */
  function load(): Promise<void> {
    loading ??= loadEverywhere().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  /** Where that fails the calls say so; one server that is down must not keep it from the others. */
  async function loadEverywhere(): Promise<void> {
    const { source } = await library;
    const primaries = await connection.primaries();
    const outcomes = await Promise.allSettled(
      // Not REPLACE: the function remembers when it was called last, and it is named after its text.
      primaries.map((send) => inTime(send(['FUNCTION', 'LOAD', source]), deadlineMs)),
    );
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    const failures = failed.filter((error) => !(error instanceof Error && alreadyLoaded.test(error.message)));
    if (failures.length > 0 && failures.length === primaries.length) throw noFunctions(failures[0]);
  }

  /** Has the partitions that are due looked at now, so that nobody pays for the first look later. */
  async function sweep(served: ReadonlySet<number>, rounds: number): Promise<void> {
    // Another change while this runs makes all of them due anew.
    const ours = due;
    for (let round = 0; round < rounds; round += 1) {
      const left = [...ours].filter((guard) => served.has(placeOf(guard)));
      for (let from = 0; from < left.length; from += sweepsAtOnce) {
        await Promise.all(
          left.slice(from, from + sweepsAtOnce).map(async (guard) => {
            try {
              await callBehind(guard, ['0', '', '', '']);
              ours.delete(guard);
              closed.delete(guard);
            } catch (error) {
              if (closed.has(guard)) closed.set(guard, error);
            }
          }),
        );
      }
    }
  }

  /** In the background, one at a time, with a second in between, until nothing is due. */
  function lookSoon(): void {
    if (looking || performance.now() - lookedMs < lookPauseMs) return;
    looking = look(false)
      // The calls of those that are closed say why.
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
        lookedMs = performance.now();
      });
  }

  /** Calls the function with the keys and arguments of a message, and the guard. */
  async function callBehind(guard: string, message: readonly string[]): Promise<unknown> {
    const keyCount = Number(message[0]);
    const keys = message.slice(1, keyCount + 1);
    const args = message.slice(keyCount + 1);
    const { name } = await library;
    for (let tries = 1; ; tries += 1) {
      const sentMs = performance.now();
      const { nowMs, steadySinceMs } = clock();
      const fence = `${nowMs} ${steadySinceMs} ${limits}`;
      const own = nextCall();
      const command = ['FCALL', name, String(keyCount + 1), ...keys, guard, ...args, fence, own];
      const answer = await inTime(connection.send(guard, command), deadlineMs);
      const tookMs = performance.now() - sentMs;
      // A server that was paused answers what waited in its sockets, before it learns that another took its place.
      if (tookMs > deadlineMs) throw tooLate(tookMs);
      const reply = answerTo(own, answer);
      const kind = String(reply[0]);
      if (kind === 'skew') throw tooFarApart(Number(reply[1]), tookMs, skewMs);
      if (kind !== 'again') {
        if (kind === '1') tripped += 1;
        return reply;
      }
      const pauseMs = Number(reply[1]);
      if (pauseMs > deadlineMs || tries === mostTries) throw inDoubt(pauseMs);
      await new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
    }
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
    const [changed, decided] = reply as readonly unknown[];
    if (Number(changed) === 1) due = new Set(guards);
    if (due.size > 0) lookSoon();
    return decided;
  }

  function ready(): Promise<void> {
    // A start that failed is tried again: the server may have been set right.
    started ??= look(true).catch((error: unknown) => {
      started = undefined;
      failed = { error: unavailable(error), atMs: performance.now() };
      throw failed.error;
    });
    return started;
  }

  return {
    async call({ key, args }) {
      // Not by every call: a start asks the servers a lot.
      if (!started && failed && performance.now() - failed.atMs < lookPauseMs) throw failed.error;
      await ready();
      const guard = guardOf(key);
      try {
        if (closed.has(guard)) {
          lookSoon();
          throw closed.get(guard);
        }
        return await call(guard, args);
      } catch (error) {
        throw unavailable(error);
      }
    },
    ready,
    trips: () => tripped,
  };
}

/** The promise, unless it takes longer than that. */
async function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(ms)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(tookMs: number): SluiceError {
  return new SluiceError(
    'store-unavailable',
    `Redis did not answer within ${Math.floor(tookMs)} ms, and what comes later is not trusted.`,
  );
}

function nobodyHasIt(): SluiceError {
  return new SluiceError('store-unavailable', 'No Redis server that answers has this part of the keys.');
}

/** The server's own no to functions, where it is one. */
function noFunctions(error: unknown): unknown {
  if (!isDenied(error)) return error;
  const text = `FUNCTION LOAD failed, and without it there is no fence; Redis 7 or later is needed: ${error.message}`;
  return new SluiceError('store-unsafe', text, { cause: error });
}

function isUnsafe(error: unknown): boolean {
  return error instanceof SluiceError && error.code === 'store-unsafe';
}

function inDoubt(forMs: number): SluiceError {
  return new SluiceError(
    'store-unavailable',
    `Redis was cut off from its cluster or stood still, and may have lost its place; it is not trusted for another ${forMs} ms.`,
  );
}

function tooFarApart(aheadMs: number, tookMs: number, skewMs: number): SluiceError {
  const allowed = `${skewMs} ms either way are allowed`;
  return new SluiceError(
    'store-unavailable',
    aheadMs > skewMs && aheadMs - tookMs <= skewMs
      ? `Redis got the call ${aheadMs} ms after it was sent, by the clock of this process: the way was slow, or its clock is ahead; ${allowed}.`
      : `The clock of Redis is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} this process; ${allowed}.`,
  );
}

/**
 * The wall clock, and since when it has not jumped, as far as the monotonic clock can tell. A jump of both clocks at once, as
 * on one machine, would otherwise go unnoticed: they still agree with each other, and not with what was written before.
 */
function steadyClock(skewMs: number): () => { readonly nowMs: number; readonly steadySinceMs: number } {
  let offsetMs = Date.now() - performance.now();
  let steadySinceMs = 0;
  return () => {
    const nowMs = Date.now();
    const nowOffsetMs = nowMs - performance.now();
    if (Math.abs(nowOffsetMs - offsetMs) > skewMs) {
      offsetMs = nowOffsetMs;
      steadySinceMs = nowMs;
    }
    return { nowMs, steadySinceMs };
  };
}

/** The function that all calls behind a fence are by, named after what it does. */
async function libraryOf(): Promise<{ readonly name: string; readonly source: string }> {
  const made = `${sourceOf(Object.keys(twins))}\n${parts.fence}\nreturn run_behind`;
  const body = `local function make()\n${made}\nend\n${parts.library}`;
  const name = `sluice_${(await sha1(body)).slice(0, 12)}`;
  return { name, source: `#!lua name=${name}\n${body.replace('FUNCTION_NAME', name)}` };
}
