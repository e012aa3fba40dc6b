/**
 * Sends batches to Redis. Those of one turn of the event loop travel together, in one call of one script: a client spends
 * more on each command than the server spends on a check.
 */
import type { Decision } from '../../vocabulary/decision.ts';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Connection } from './connection.ts';
import { scriptOf, twinWithCode } from './script.ts';
import { type Batch, decisionOf, type Message, messageOf, partsPerCheck } from './wire.ts';

interface Waiting {
  readonly batch: Batch;
  resolve(decisions: Decision[]): void;
  reject(error: unknown): void;
}

/** Sends a message by some command of the server and returns its reply. */
export type Call = (message: Message) => Promise<unknown>;

/** Node's `setImmediate`, where there is one: it comes after all replies that have arrived were handed out. */
const soon: (callback: () => void) => void =
  (globalThis as { setImmediate?: (callback: () => void) => void }).setImmediate ??
  ((callback) => queueMicrotask(callback));

export function dispatcher(call: Call, now: () => number, mostTogether: number) {
  // By what they have in common: slot and algorithms.
  let waiting = new Map<string, Waiting[]>();

  function flush(): void {
    const all = waiting;
    waiting = new Map();
    for (const together of all.values()) {
      for (let from = 0; from < together.length; from += mostTogether) {
        // It rejects nothing: every outcome goes to those who wait.
        void deliver(together.slice(from, from + mostTogether));
      }
    }
  }

  async function deliver(together: readonly Waiting[]): Promise<void> {
    try {
      const reply = await call(
        messageOf(
          together.map(({ batch }) => batch),
          now(),
        ),
      );
      if (!Array.isArray(reply)) throw new SluiceError('store-unavailable', 'Redis did not answer with an array.');
      if (isForTwin(reply)) throw new ForeignState(Number(reply[1]));
      let from = 0;
      for (const { batch, resolve, reject } of together) {
        const own = from;
        from += batch.checks.length * partsPerCheck;
        try {
          resolve(batch.checks.map((routed, i) => decisionOf(routed, reply, own + i * partsPerCheck)));
        } catch (error) {
          // Somebody's unreadable answer is nobody else's.
          reject(error);
        }
      }
    } catch (error) {
      // A script that failed has written nothing. Somebody's key may hold what is none of ours, which is nobody else's fault.
      if (together.length > 1 && isOfScript(error)) for (const each of together) void deliver([each]);
      else for (const { batch, reject } of together) reject(isOfScript(error) ? naming(batch, error) : error);
    }
  }

  return {
    /** Batches for different slots of a cluster cannot travel together. */
    dispatch(batch: Batch, slot: number | undefined): Promise<Decision[]> {
      return new Promise((resolve, reject) => {
        const own = { batch, resolve, reject };
        // On a caller's own time each call has its own.
        if (batch.atMs !== undefined) return void deliver([own]);
        if (waiting.size === 0) soon(flush);
        const key = togetherness(batch, slot);
        const together = waiting.get(key);
        if (together) together.push(own);
        else waiting.set(key, [own]);
      });
    },
  };
}

/** Some key's state is of an algorithm that is none of ours. Nothing was done. */
class ForeignState extends SluiceError {
  constructor(code: number) {
    super('store-unavailable', `A key in Redis has state of an unknown algorithm (code ${code}).`);
  }
}

/** Whether a script was run and failed, rather than the way to it. */
function isOfScript(error: unknown): error is SluiceError {
  if (error instanceof ForeignState) return true;
  return (
    error instanceof SluiceError && error.cause instanceof Error && /script:|user_function/.test(error.cause.message)
  );
}

/** Whether a reply says that some key's state is of an algorithm that the script does not have. */
function isForTwin(reply: readonly unknown[]): boolean {
  return String(reply[0]) === 'twin';
}

function naming({ checks }: Batch, error: SluiceError): SluiceError {
  const keys = checks.map(({ key }) => JSON.stringify(key)).join(', ');
  // All that is in a script is known to every server but those from before `KEEPTTL`.
  const isOld = error.message.includes('ERR syntax error');
  const wayOut = isOld ? ' Redis 6.0 or later is needed.' : '';
  return new SluiceError(error.code, `${error.message} (keys ${keys})${wayOut}`, { cause: error.cause });
}

function togetherness({ checks }: Batch, slot: number | undefined): string {
  const first = checks[0]?.policy.twin ?? '';
  const twins = checks.length === 1 ? first : [...new Set(checks.map(({ policy }) => policy.twin))].sort().join(' ');
  return slot === undefined ? twins : `${slot} ${twins}`;
}

/** Calls by script. */
export function scriptCall(connection: Connection): Call {
  return async (message) => {
    const { key, args } = message;
    // Each time round one more twin is in the script, so it ends.
    for (;;) {
      const script = scriptOf(message.twins);
      const call = nextCall();
      const reply = answerTo(call, await runScript(connection, key, script, [...args, call]));
      const missing = isForTwin(reply) ? twinWithCode(Number(reply[1])) : undefined;
      if (missing === undefined || message.twins.has(missing)) return reply;
      message.twins.add(missing);
    }
  };
}

let calls = 0;

/** What the next call is told from all others by. */
export function nextCall(): string {
  calls += 1;
  return String(calls);
}

/**
 * A reply, which ends with what its call ended with. After a lost connection node-redis 5 may give each call the answer to the next, from
 * then on: a key that is over its limit would pass by the answer to another one.
 */
export function answerTo(call: string, reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new SluiceError('store-unavailable', 'Redis did not answer with an array.');
  if (String(reply.at(-1)) === call) return reply;
  throw new SluiceError(
    'store-unavailable',
    'The client gave the answer to another call. It has to be connected anew.',
  );
}

/** Runs a script where a key lives: by its hash, and in full where the server does not know it. */
export async function runScript(
  connection: Connection,
  key: string,
  { sha, source }: { readonly sha: Promise<string>; readonly source: string },
  args: string[],
): Promise<unknown> {
  try {
    return await connection.send(key, ['EVALSHA', await sha, ...args]);
  } catch (error) {
    if (!isNoScript(error)) throw unavailable(error);
  }
  return connection.send(key, ['EVAL', source, ...args]).catch((error: unknown) => {
    throw unavailable(error);
  });
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** What a client threw, as an error of ours. */
export function unavailable(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new SluiceError('store-unavailable', `Redis did not answer: ${message}`, { cause: error });
}
