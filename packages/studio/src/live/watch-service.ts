/**
 * The connection to a running service: its snapshots, and where the connection stands.
 *
 *      connecting ──► live ──► waiting ──► connecting ──► ...        lost, silent, or refused for now
 *          │
 *          ├──► unauthorized      a token is needed, or another one     ends: somebody has to do something
 *          └──► not-a-service     nothing here sends snapshots          ends
 */
import type { Clock } from 'sluice';
import type { LiveSnapshot } from './contract.ts';
import { readSnapshot } from './read-snapshot.ts';
import { reconnectWaitMs } from './reconnect-wait.ts';
import { eventReader } from './server-sent-events.ts';

export type Connection =
  | { readonly state: 'connecting' | 'live' }
  | { readonly state: 'waiting'; readonly because: string; readonly waitMs: number }
  | { readonly state: 'unauthorized' | 'not-a-service'; readonly because: string };

export interface WatchOptions {
  /** Of `/v1/live`. */
  readonly address: string;
  readonly token: string | undefined;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** It was live before, so whatever answers for it now, it is a service. */
  readonly wasLive?: boolean;
  readonly onConnection: (connection: Connection) => void;
  readonly onSnapshot: (snapshot: LiveSnapshot) => void;
}

/** Snapshots come each second; a stream that has been quiet for so long leads nowhere. */
export const longestSilenceMs = 10_000;

/** Until the signal is aborted, or nothing but a person can help. */
export async function watchService(options: WatchOptions): Promise<void> {
  const { clock, random, signal, onConnection } = options;
  let attempt = 0;
  let { wasLive = false } = options;
  const onLive = () => {
    attempt = 0;
    wasLive = true;
  };
  while (!signal.aborted) {
    onConnection({ state: 'connecting' });
    const ending = await follow(options, onLive);
    if (signal.aborted) return;
    // A proxy may answer for a service that is being restarted: what was a service once will be one again.
    if (ending.kind === 'unauthorized' || (ending.kind === 'not-a-service' && !wasLive))
      return onConnection({ state: ending.kind, because: ending.because });
    attempt += 1;
    const waitMs = Math.max(ending.leastWaitMs ?? 0, reconnectWaitMs(attempt, random()));
    onConnection({ state: 'waiting', because: ending.because, waitMs });
    await sleepOrAbort(clock, waitMs, signal);
  }
}

interface Ending {
  readonly kind: 'lost' | 'unauthorized' | 'not-a-service';
  readonly because: string;
  readonly leastWaitMs?: number;
}

/** One connection, from its request to its end. */
async function follow(options: WatchOptions, onLive: () => void): Promise<Ending> {
  const { clock, signal } = options;
  const own = new AbortController();
  const either = AbortSignal.any([signal, own.signal]);
  const silence = silenceOf(clock, either, () =>
    own.abort(new Error(`it has been silent for ${longestSilenceMs / 1000} s`)),
  );
  try {
    const response = await fetch(options.address, { headers: headersOf(options), cache: 'no-store', signal: either });
    const refusal = await refusalOf(response);
    if (refusal !== undefined) return refusal;
    await readEvents(response.body!, options, onLive, silence);
    return { kind: 'lost', because: 'the service ended the connection' };
  } catch (error) {
    const { message } = own.signal.aborted ? (own.signal.reason as Error) : (error as Error);
    return { kind: 'lost', because: message };
  } finally {
    own.abort(new Error('the connection has ended'));
  }
}

function headersOf({ token }: WatchOptions): Record<string, string> {
  return { Accept: 'text/event-stream', ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
}

async function readEvents(
  body: ReadableStream<Uint8Array>,
  { onConnection, onSnapshot }: WatchOptions,
  onLive: () => void,
  silence: { broken(): void },
): Promise<void> {
  const pieces = body.getReader();
  const decoder = new TextDecoder();
  const events = eventReader();
  let isLive = false;
  for (;;) {
    const { done, value } = await pieces.read();
    if (done) return;
    silence.broken();
    for (const { name, data } of events.read(decoder.decode(value, { stream: true }))) {
      if (name !== 'snapshot') continue;
      const snapshot = readSnapshot(data);
      if (!isLive) {
        isLive = true;
        onLive();
        onConnection({ state: 'live' });
      }
      onSnapshot(snapshot);
    }
  }
}

/** Why these are no snapshots; undefined: they are. */
async function refusalOf(response: Response): Promise<Ending | undefined> {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  if (response.ok && type.startsWith('text/event-stream')) return undefined;
  const detail = type.startsWith('application/problem+json') ? problemDetail(await response.text()) : undefined;
  if (detail === undefined) await response.body?.cancel();
  const because = detail ?? `GET v1/live answered ${status}${type === '' ? '' : ` with ${type.split(';')[0]}`}`;
  if (status === 401 || status === 403) return { kind: 'unauthorized', because };
  if (response.ok || status === 404 || status === 405) return { kind: 'not-a-service', because };
  const seconds = Number(headers.get('retry-after') ?? 0);
  return { kind: 'lost', because, leastWaitMs: Number.isFinite(seconds) ? Math.min(seconds, 60) * 1000 : 0 };
}

function problemDetail(text: string): string | undefined {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    return typeof detail === 'string' ? detail : undefined;
  } catch {
    return undefined; // The status says enough.
  }
}

/** Calls back when nobody said `broken()` for too long. */
function silenceOf(clock: Clock, signal: AbortSignal, onSilence: () => void): { broken(): void } {
  let lastMs = clock.now();
  async function listen(): Promise<void> {
    while (!signal.aborted) {
      const leftMs = lastMs + longestSilenceMs - clock.now();
      if (leftMs <= 0) return onSilence();
      await sleepOrAbort(clock, leftMs, signal);
    }
  }
  void listen();
  return {
    broken() {
      lastMs = clock.now();
    },
  };
}

/** Comes back early when it is aborted; whoever sleeps asks why it woke. */
async function sleepOrAbort(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
