/**
 * Reads logs and says which limits fit:
 *
 *      files, pipe ──► lines ──┬──► trace ──► distribution, bursts, separation, what if, limits ──► advice
 *                              └──► the given policy, line by line: what it would have refused
 */
import {
  type Advice,
  adviceYaml,
  advise,
  type BiggestBursts,
  burstsOf,
  byClient,
  checkLimitsOptions,
  countedWords,
  type Distribution,
  defaultWindowsMs,
  distributionOf,
  type FilesReport,
  filesReader,
  type Limits,
  type LogFormat,
  type LogReaderOptions,
  limitsFor,
  type PolicyReplayReport,
  policyReplay,
  type RefuseShare,
  type Separation,
  separationOf,
  type TakeLine,
  type TraceReport,
  traceRecorder,
  type WhatIf,
  whatIf,
} from '@sluice/tuner';
import { type Rule, SluiceError } from 'sluice';
import type { Environment } from '../config/environment.ts';
import { type ProgressStream, progressBar } from '../terminal/progress-bar.ts';
import { readLog, titleOf } from './log-file.ts';
import { inOrderOfTime } from './order-of-time.ts';
import {
  type AskedPolicy,
  askedPolicy,
  bad,
  bytesOf,
  logKeyOf,
  type PolicyFlags,
  roomIn,
  shareOf,
  windowsOf,
} from './question.ts';
import { readingProgress } from './reading-progress.ts';
import { megabytes, tuneText } from './tune-text.ts';

export interface TuneOptions extends PolicyFlags {
  /** Files; `-` is standard input. */
  readonly logs: readonly string[];
  readonly key?: string | undefined;
  readonly format?: 'auto' | LogFormat | undefined;
  readonly time?: string | undefined;
  readonly cost?: string | undefined;
  readonly status?: string | undefined;
  readonly route?: string | undefined;
  readonly ipv6Subnet?: number | undefined;
  readonly window?: string | undefined;
  readonly refuse?: string | undefined;
  readonly of?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly top?: number | undefined;
  readonly maxMemory?: string | undefined;
  readonly json?: boolean | undefined;
  readonly yaml?: boolean | undefined;
}

export interface TuneStreams {
  readonly environment: Environment;
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: ProgressStream;
}

export interface TuneReport {
  /** In the order in which they were read. */
  readonly logs: readonly string[];
  readonly key: string;
  readonly readingSeconds: number;
  readonly read: FilesReport;
  /** Gzipped logs that end before their end, and how much could be read of them. */
  readonly cutOff: readonly { readonly file: string; readonly bytes: number }[];
  readonly trace: TraceReport;
  readonly distribution: Distribution;
  readonly bursts: readonly BiggestBursts[];
  readonly separation: Separation;
  /** What was asked about with --policy or --config. */
  readonly asked: AskedReport | undefined;
  readonly limits: Limits;
  readonly advice: Advice;
  readonly yaml: string;
}

export interface AskedReport {
  /** Who: by the trace, in the order of time. */
  readonly whatIf: WhatIf;
  /** What: by the lines, in their own order. Undefined where that order says nothing, or where the clients did not fit. */
  readonly replay: PolicyReplayReport | undefined;
  /** Why the lines say nothing, or something else than the trace; a sentence. */
  readonly replayNote: string | undefined;
  readonly notes: readonly string[];
}

const usual = { window: '1m,1h', refuse: '0.1%', of: 'calls', maxMemory: '1GB', top: 10 };

/** The exit code: 0, or 2 with a sentence on standard error. */
export async function tune(options: TuneOptions, streams: TuneStreams): Promise<number> {
  try {
    const report = await analyse(options, streams);
    if (options.yaml) streams.stdout.write(report.yaml);
    else if (options.json) streams.stdout.write(`${JSON.stringify(report, plainData, 2)}\n`);
    else streams.stdout.write(tuneText(report, options.top ?? usual.top));
    return 0;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    streams.stderr.write(`${error.message}\n`);
    return 2;
  }
}

async function analyse(options: TuneOptions, streams: TuneStreams): Promise<TuneReport> {
  if (options.yaml && options.json) throw bad('--yaml and --json are two ways to print: give one.');
  const windowsMs = windowsOf(options.window ?? usual.window);
  const refuse = refuseOf(options);
  const asked = askedPolicy(options, streams.environment);
  const key = options.key ?? (asked?.rule && logKeyOf(asked.rule)) ?? 'ip';
  const algorithms = options.algorithm?.split(',').map((name) => name.trim());
  checkLimitsOptions({ windowsMs, refuse, algorithms });
  const top = options.top ?? usual.top;
  const room = roomIn(bytesOf(options.maxMemory ?? usual.maxMemory));
  const replay = asked && policyReplay(asked.policy, { maxBytes: room.replayBytes, top });
  const ipv6Subnet = options.ipv6Subnet ?? asked?.ipv6Subnet;
  const readOptions = { ...readerOptions({ ...options, ipv6Subnet }), key };
  const logs = await inOrderOfTime(options.logs, readOptions);
  const { trace, traceReport, ...reading } = await readTrace(logs, readOptions, room, replay?.take, streams);

  const index = byClient(trace);
  const shownMs = [...new Set([...defaultWindowsMs, ...windowsMs])].sort((a, b) => a - b);
  const distribution = distributionOf(trace, shownMs, index);
  const separation = separationOf(trace, heldWindows(shownMs, distribution.spanMs), index);
  const bar = progressBar({ stream: streams.stderr, label: 'trying limits' });
  const limits = limitsFor(trace, { windowsMs, refuse, algorithms, onProgress: (done) => bar.update(done) });
  bar.clear();
  const adviceWindow = options.window === undefined ? {} : { windowMs: windowsMs[0] };
  const cost = reading.read.files.find(({ fields }) => fields?.cost !== undefined)?.fields?.cost;
  const measured = { key, route: options.route, cost, ipv6Subnet, refuse, ...adviceWindow };
  const advice = advise(trace, distribution, separation, measured);
  return {
    logs,
    key,
    ...reading,
    trace: traceReport,
    distribution,
    bursts: burstsOf(trace, undefined, index),
    separation,
    asked:
      asked && replay && askedReport(asked, key, whatIf(trace, asked.policy, { top }), replay.report(), traceReport),
    limits,
    advice,
    yaml: adviceYaml(advice),
  };
}

/** What clients do in a window is only seen where a log holds some of it. */
const fewestWindows = 5;

function heldWindows(windowsMs: readonly number[], spanMs: number): readonly number[] {
  const held = windowsMs.filter((ms) => ms * fewestWindows <= spanMs);
  return held.length === 0 ? windowsMs.slice(0, 1) : held;
}

function refuseOf({ refuse = usual.refuse, of = usual.of }: TuneOptions): RefuseShare {
  if (of !== 'calls' && of !== 'clients') throw bad(`--of must be calls or clients, got "${of}".`);
  return { share: shareOf(refuse), of };
}

/** What was refused is told by the trace, which is in order; of what, by the lines, which are in order only if the log is. */
function askedReport(
  { rule }: AskedPolicy,
  key: string,
  found: WhatIf,
  replay: PolicyReplayReport,
  trace: TraceReport,
): AskedReport {
  const notes = rule === undefined ? [] : notesOf(rule, key);
  const whyNot = whyNoReplay(replay, trace);
  if (whyNot !== undefined) {
    const replayNote = `Which routes were refused is not said: that is told line by line, and ${whyNot}`;
    return { whatIf: found, replay: undefined, replayNote, notes };
  }
  const isSame = replay.refusedCalls === found.refusedCalls;
  const replayNote = isSame
    ? undefined
    : `${['Routes and answers are told line by line', ...whyOtherwise(trace)].join(', ')}: by that, ${countedWords(replay.refusedCalls, 'call')} would have been refused. These are shares of them.`;
  return { whatIf: found, replay, replayNote, notes };
}

function whyNoReplay({ isBeyondMemory }: PolicyReplayReport, { stepsBack }: TraceReport): string | undefined {
  if (stepsBack > 0) return 'the time of the lines went back. Give logs that overlap one at a time.';
  if (isBeyondMemory) return 'there were more clients at once than fit. Give more with --max-memory.';
  return undefined;
}

/** Why the lines say something else than the trace. */
function whyOtherwise({ lateLines, thinnedTo, isCoarse, hasAveragedCosts }: TraceReport): string[] {
  const reasons: string[] = [];
  if (thinnedTo > 1) reasons.push('of all clients and not of a sample');
  if (isCoarse) reasons.push("by the log's own clock and not by the tick");
  if (hasAveragedCosts) reasons.push('each at its own cost');
  if (lateLines > 0) reasons.push('late lines at the latest time');
  return reasons;
}

async function readTrace(
  logs: readonly string[],
  options: LogReaderOptions,
  room: ReturnType<typeof roomIn>,
  alsoTake: TakeLine | undefined,
  { stdin, stderr }: TuneStreams,
) {
  const recorder = traceRecorder({ maxEntries: room.maxEntries, maxClients: room.maxClients });
  const take: TakeLine = alsoTake
    ? (line) => {
        recorder.take(line);
        alsoTake(line);
      }
    : (line) => recorder.take(line);
  const reader = filesReader(logs.map(titleOf), options, take);
  const cutOff: { file: string; bytes: number }[] = [];
  const progress = readingProgress(stderr);
  const startedMs = performance.now();
  try {
    await readLog(logs, (chunk, file) => reader.push(chunk, file), {
      onProgress: (bytes, total) => progress.read(bytes, total, reader.report().lines),
      onCutOff: (file, bytes) => cutOff.push({ file, bytes }),
      pipeInto: 'sluice tune -',
      ...(stdin === undefined ? {} : { stdin }),
    });
    reader.end();
  } finally {
    progress.clear();
  }
  for (const { file, bytes } of cutOff)
    stderr.write(
      `${titleOf(file)} is gzipped and was cut off: what is left of it was read, ${megabytes(bytes)} unpacked.\n`,
    );
  const read = reader.report();
  if (read.read === 0) {
    const what = read.lines === 0 ? 'is empty' : `has ${countedWords(read.lines, 'line')} and not one call`;
    throw bad(`${logs.join(', ')} ${what}: there is nothing to tune by.`);
  }
  const trace = recorder.finish();
  const readingSeconds = (performance.now() - startedMs) / 1000;
  return { trace, traceReport: recorder.report(), read, cutOff, readingSeconds };
}

/** Those that were given: to the reader, undefined is a value. */
function readerOptions(options: TuneOptions): LogReaderOptions {
  const { format, time, cost, status, route, ipv6Subnet } = options;
  const given = Object.entries({ format, time, cost, status, route, ipv6Subnet }).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(given);
}

function notesOf(rule: Rule, key: string): string[] {
  const own = [rule.key ?? 'all'].flat().join('+');
  const notes: string[] = [];
  if (own !== key) notes.push(`The rule's key is ${own}; the log was read by ${key}.`);
  if (rule.match !== undefined || rule.skip !== undefined)
    notes.push('The rule has a match or a skip, which a log cannot tell: every line was counted.');
  return notes;
}

/** JSON has no arrays of one kind of number, and no Infinity. */
function plainData(_name: string, value: unknown): unknown {
  if (value instanceof Float64Array) return Array.from(value);
  return value === Number.POSITIVE_INFINITY ? null : value;
}
