/**
 * The calls of an access log as traffic, for scenarios that replay one: who called is the key. Read as `sluice tune` reads it, gzipped or not, in
 * whatever order its lines are.
 */
import type { Arrival, Traffic } from '@sluice/simulator';
import { countedWords, logReader, type ReadReport, type Trace, traceRecorder, visibleText } from '@sluice/tuner';
import { readLog } from '../tune/log-file.ts';

export interface LogTraffic {
  readonly traffic: Traffic;
  /** What whoever replays it should know: what of it is left out, and why. */
  readonly notes: readonly string[];
}

/** Rejects with a sentence where there is nothing to replay. */
export async function readLogTraffic(file: string): Promise<LogTraffic> {
  const recorder = traceRecorder();
  const reader = logReader({}, (line) => recorder.take(line));
  await readLog([file], (chunk) => reader.push(chunk));
  reader.end();
  const trace = recorder.finish();
  const { lines, thinnedTo, isCoarse, hasAveragedCosts } = recorder.report();
  if (lines === 0) throw new Error(`${file} has no calls.`);
  // A sample of the clients says what limits fit; it is not the traffic that was.
  if (thinnedTo > 1 || isCoarse || hasAveragedCosts)
    throw new Error(`${file} has ${lines} calls, too many to be replayed one by one. Take an hour of it, or a day.`);
  return { traffic: trafficOf(trace), notes: notesOf(file, reader.report()) };
}

function notesOf(file: string, { withoutKey, malformed, firstMalformed: [first] }: ReadReport): string[] {
  const notes: string[] = [];
  if (withoutKey > 0)
    notes.push(
      `${countedWords(withoutKey, 'call')} ${withoutKey === 1 ? 'has' : 'have'} no address, and ${leftOut(withoutKey)}.`,
    );
  if (first !== undefined)
    notes.push(
      `${countedWords(malformed, 'line')} could not be read and ${leftOut(malformed)}. Line ${first.line} ${first.problem}: ${first.text}`,
    );
  return notes.map((note) => visibleText(`${file}: ${note}`));
}

function leftOut(count: number): string {
  return `${count === 1 ? 'is' : 'are'} left out`;
}

/** From 0 on. A log whose clock has whole seconds gives the calls of a second all at once: what was between them it does not say. */
export function trafficOf({ length, tickMs, atTicks, clients, calls, costs, clientList }: Trace): Traffic {
  const names: string[] = [];
  function* arrivals(): Generator<Arrival> {
    for (let entry = 0; entry < length; entry += 1) {
      const client = clients[entry]!;
      names[client] ??= clientList.nameOf(client);
      const count = calls[entry]!;
      const arrival = { atMs: atTicks[entry]! * tickMs, key: names[client], cost: costs[entry]! / count };
      for (let call = 0; call < count; call += 1) yield arrival;
    }
  }
  return { [Symbol.iterator]: arrivals };
}
