/**
 * What a line costs on its way into a trace, beside the plain way to keep the same: a text per line and a list of times per client.
 * Each begins anew when it holds as much as a middling log.
 */
import type { LogLine } from '../log/log-line.ts';
import { type TraceRecorderOptions, traceRecorder } from './trace-recorder.ts';

const linesPerLog = 2_000_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The lines' names, in an order that no cache can learn, one after another as in the buffer of a reader. */
function namesOf(clients: number) {
  const starts = new Uint32Array(2 ** 20 + 1);
  const bytes = new Uint8Array(2 ** 24);
  let state = 1;
  for (let i = 0, end = 0; i < 2 ** 20; i += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const client = Math.floor((state / 2 ** 32) * clients);
    const name = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
    end += encoder.encodeInto(name, bytes.subarray(end)).written;
    starts[i + 1] = end;
  }
  return { starts, bytes };
}

function lines(clients: number, stepMs: number, begin: () => (line: LogLine) => void) {
  const { starts, bytes } = namesOf(clients);
  const client = { bytes, start: 0, end: 0 };
  const line: LogLine = { atMs: 0, cost: 1, status: 200, client, route: { bytes, start: 0, end: 0 } };
  let take = begin();
  let taken = 0;
  return (iterations: number) => {
    for (let i = 0; i < iterations; i += 1) {
      if (taken === linesPerLog) {
        take = begin();
        taken = 0;
      }
      const place = taken & (2 ** 20 - 1);
      client.start = starts[place]!;
      client.end = starts[place + 1]!;
      line.atMs = 1_700_000_000_000 + Math.floor(taken * stepMs);
      take(line);
      taken += 1;
    }
  };
}

function plain(): (line: LogLine) => void {
  const timesOf = new Map<string, number[]>();
  return ({ atMs, client: { bytes, start, end } }) => {
    const name = decoder.decode(bytes.subarray(start, end));
    const times = timesOf.get(name);
    if (times) times.push(atMs);
    else timesOf.set(name, [atMs]);
  };
}

function recorded(options?: TraceRecorderOptions): () => (line: LogLine) => void {
  return () => {
    const recorder = traceRecorder(options);
    return (line) => recorder.take(line);
  };
}

// A thousand lines a second.
const stepMs = 0.997;

export default {
  name: 'trace recorder',
  cases: [
    { name: 'plain: Map of texts to lists, 100 clients', run: lines(100, stepMs, plain) },
    { name: 'plain: Map of texts to lists, 500,000 clients', run: lines(500_000, stepMs, plain) },
    { name: 'take, 100 clients', run: lines(100, stepMs, recorded()) },
    { name: 'take, 10,000 clients', run: lines(10_000, stepMs, recorded()) },
    { name: 'take, 500,000 clients', run: lines(500_000, stepMs, recorded()) },
    {
      name: 'take, 500,000 clients, thinned to 50,000',
      run: lines(500_000, stepMs, recorded({ maxClients: 50_000, maxEntries: 400_000 })),
    },
  ],
};
