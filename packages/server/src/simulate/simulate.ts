/**
 * What `sluice simulate` does: finds the scenario, runs it, and says what came out. The exit code: 0; 1 when a claim does not hold; 2 for a wrong
 * file or usage; 130 when it was interrupted, as shells have it.
 */
import { accessSync, constants, existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { runScenario, type Scenario, type ScenarioResult } from '@sluice/simulator';
import { SluiceError } from 'sluice';
import { formatProblems } from '../config/format-problems.ts';
import { nearestName } from '../config/nearest-name.ts';
import type { Problem } from '../config/problem.ts';
import { whyNot } from '../config/why-not.ts';
import { type ProgressStream, progressBar } from '../terminal/progress-bar.ts';
import { wrapped } from '../terminal/words.ts';
import { BadUsage } from './bad-usage.ts';
import { paintFor } from './paint.ts';
import { readLogTraffic } from './read-log-traffic.ts';
import { type ReadScenario, readScenario } from './read-scenario.ts';
import { aboutOf, type ReadyScenario, readyFolder, readyScenarios } from './ready-scenarios.ts';
import type { RedisPlace } from './redis-place.ts';
import { resultSvg } from './result-svg.ts';
import { claimLines, resultLines, type TextOptions } from './result-text.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface SimulateOptions {
  /** A file, or the name of a ready scenario. */
  readonly target?: string | undefined;
  readonly list?: boolean | undefined;
  readonly all?: boolean | undefined;
  readonly seed?: number | undefined;
  readonly duration?: string | undefined;
  readonly json?: boolean | undefined;
  /** A file to write. */
  readonly svg?: string | undefined;
  readonly columns?: number | undefined;
  /** The address of a Redis that the limits live in. Default: memory. */
  readonly redis?: string | undefined;
}

export interface SimulateWorld {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: ProgressStream;
  readonly stderr: ProgressStream;
  /** Ends a run. */
  readonly signal?: AbortSignal | undefined;
  /** Told what would be left behind if the program ended at this moment, in a sentence; `undefined`: nothing any more. */
  readonly onLeftover?: ((sentence: string | undefined) => void) | undefined;
  /** Where the ready scenarios are. Default: in the package of the simulator. */
  readonly scenarios?: string | undefined;
}

/** As shells have it. */
export const interruptedCode = 130;
/** Of a page that is piped somewhere. */
const usualColumns = 100;
/** On wider terminals lines would be too long to read. */
const mostColumns = 160;
/** Of whoever has asked for the end: for what is under way, and then for each answer while it is tidied up. */
const patienceAfterAbortMs = 1000;

export async function simulate(options: SimulateOptions, world: SimulateWorld): Promise<number> {
  const { stderr, signal } = world;
  try {
    const chosen = [options.target !== undefined, options.list, options.all].filter((each) => each === true);
    if (chosen.length !== 1) {
      throw new BadUsage('Name one scenario: a file, or one of "sluice simulate --list"; or run them with --all.');
    }
    if (options.svg !== undefined && options.target === undefined) {
      throw new BadUsage('--svg is a picture of one scenario: name it.');
    }
    if (options.redis !== undefined && options.list) {
      throw new BadUsage('--redis is where scenarios are run: name one, or run them with --all.');
    }
    if (options.list) return list(options, world);
    if (options.all) return await inPlace(options, world, (place) => runAll(options, { ...world, place }));
    return await runOne(options.target!, options, world);
  } catch (error) {
    if (signal?.aborted) return interruptedCode;
    if (!(error instanceof BadUsage)) throw error;
    stderr.write(`${error.message}\n`);
    return 2;
  }
}

function list({ json, columns }: SimulateOptions, world: SimulateWorld): number {
  const { stdout } = world;
  const ready = readyIn(world).map((scenario) => ({ ...scenario, about: aboutOf(scenario) }));
  if (json) {
    stdout.write(`${JSON.stringify(ready, null, 2)}\n`);
    return 0;
  }
  const width = Math.max(...ready.map(({ name }) => name.length));
  const room = Math.max(30, columnsOf({ columns }, stdout) - width - 2);
  for (const { name, about } of ready) {
    const [first = '', ...more] = wrapped(about, room);
    stdout.write(`${name.padEnd(width)}  ${more.length === 0 ? first : `${wrapped(about, room - 2)[0]} …`}\n`);
  }
  return 0;
}

async function runOne(target: string, options: SimulateOptions, world: SimulateWorld): Promise<number> {
  if (options.svg !== undefined) checkWritable(options.svg);
  const read = await readScenario(fileOf(target, world), options, readLogTraffic);
  if ('problems' in read) return refuse(read.problems, read, options, world);
  const isPlaceless = options.redis !== undefined && !hasLimit(read.scenario);
  const work = async (place: RedisPlace | undefined): Promise<number> => {
    const result = await run(read.scenario, 'simulating', { ...world, place });
    const { stdout, stderr } = world;
    if (options.json) stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    else stdout.write(`${resultLines(result, textOptions(options, world)).join('\n')}\n`);
    for (const note of read.notes) stderr.write(`${note}\n`);
    if (isPlaceless) stderr.write('This scenario has no limit: nothing of it lives in Redis.\n');
    // Last: a picture that fails must not take the page with it.
    if (options.svg !== undefined) {
      writeSvg(options.svg, result);
      stderr.write(`The picture is in ${options.svg}.\n`);
    }
    return result.expectations.every(({ isMet }) => isMet) ? 0 : 1;
  };
  if (!isPlaceless) return inPlace(options, world, work);
  (await import('./redis-place.ts')).checkRedisAddress(options.redis!);
  return work(undefined);
}

/** Every ready scenario, and whether what it claims holds. */
async function runAll(options: SimulateOptions, world: PlacedWorld): Promise<number> {
  const { stdout, stderr, place } = world;
  const text = textOptions(options, world);
  const ready = readyIn(world);
  const width = Math.max(...ready.map(({ name }) => name.length));
  const results: ScenarioResult[] = [];
  let withoutLimit = 0;
  for (const { name, file } of ready) {
    const read = await readScenario(file, options, readLogTraffic);
    if ('problems' in read) return refuse(read.problems, read, options, world);
    const result = await run(read.scenario, name, world);
    results.push(result);
    if (!hasLimit(read.scenario)) withoutLimit += 1;
    if (!options.json) stdout.write(`${verdictLines(name.padEnd(width), result, text).join('\n')}\n`);
  }
  const claims = results.flatMap(({ expectations }) => expectations);
  const broken = claims.filter(({ isMet }) => !isMet).length;
  if (options.json) stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  else {
    const held = broken === 0 ? `all ${claims.length} claims hold` : `${broken} of ${claims.length} claims do not hold`;
    stdout.write(`\n${ready.length} scenarios: ${held}.\n`);
  }
  if (place && withoutLimit > 0)
    stderr.write(`${withoutLimit} of ${ready.length} scenarios have no limit: nothing of them lives in Redis.\n`);
  return broken === 0 ? 0 : 1;
}

/** One line when all is well; what does not hold is told. */
function verdictLines(name: string, { expectations }: ScenarioResult, text: TextOptions): string[] {
  const broken = expectations.filter(({ isMet }) => !isMet);
  const mark = broken.length === 0 ? text.paint.text('allowed', '✓') : text.paint.text('refused', '✗');
  const count = expectations.length === 1 ? '1 claim' : `${expectations.length} claims`;
  const verdict = broken.length === 0 ? count : `${broken.length} of ${count}`;
  return [`${mark} ${name}  ${text.paint.text('faint', verdict)}`, ...claimLines(broken, text)];
}

interface PlacedWorld extends SimulateWorld {
  /** Where the limits live; memory where there is none. */
  readonly place: RedisPlace | undefined;
}

/** Opens the Redis that was named, if one was, and leaves in it nothing of ours, however the work ends; or says what is left. */
async function inPlace(
  { redis }: SimulateOptions,
  { stderr, signal, onLeftover }: SimulateWorld,
  work: (place: RedisPlace | undefined) => Promise<number>,
): Promise<number> {
  if (redis === undefined) return work(undefined);
  const { openRedisPlace } = await import('./redis-place.ts');
  const place = await openRedisPlace(redis, signal);
  onLeftover?.(place.leftover);
  const worked = await work(place).then(
    (exitCode) => ({ exitCode }),
    (error: unknown) => ({ error: place.toldOf(error) }),
  );
  const left = await place.close(signal?.aborted ? patienceAfterAbortMs : undefined).then(
    () => undefined,
    (failure: Error) => failure,
  );
  onLeftover?.(undefined);
  // Who ended it themselves know why it ended, and not what that left behind.
  if (left && signal?.aborted) stderr.write(`${left.message}\n`);
  if ('error' in worked) {
    const { error } = worked;
    // Both are to be known: what ended the work, and that something was left behind.
    if (left && error instanceof BadUsage) throw new BadUsage(`${error.message}\n${left.message}`);
    if (left && !signal?.aborted) stderr.write(`${left.message}\n`);
    throw error;
  }
  if (left) throw left;
  return worked.exitCode;
}

function hasLimit({ variants }: Scenario): boolean {
  return variants.some(({ stages }) => stages.limit !== undefined);
}

async function run(scenario: Scenario, label: string, world: PlacedWorld): Promise<ScenarioResult> {
  const { stderr, signal, place } = world;
  const bar = progressBar({ stream: stderr, label });
  const where = place && hasLimit(scenario) ? { store: place.newStore() } : {};
  try {
    const running = runScenario(scenario, {
      onProgress: bar.update,
      ...where,
      ...(signal === undefined ? {} : { signal }),
    });
    // It ends by itself soon after the signal, unless it waits for a Redis that stands still.
    return await unlessAborted(running, signal, patienceAfterAbortMs);
  } catch (error) {
    // What the library takes from nobody, such as a cost that the algorithm does not know: the scenario is to be put right.
    if (error instanceof SluiceError && error.code === 'invalid-option')
      throw new BadUsage(`The scenario cannot be run: ${error.message}`);
    // A replayed log has as many calls as it has: that they are too many is known only when they have come.
    if (error instanceof RangeError && error.message.startsWith('The traffic')) throw new BadUsage(error.message);
    throw error;
  } finally {
    bar.clear();
  }
}

/** As `sluice validate` shows them. */
function refuse(
  problems: readonly Problem[],
  { sources }: ReadScenario,
  { json }: SimulateOptions,
  { stdout, stderr }: SimulateWorld,
): number {
  if (json) stdout.write(`${JSON.stringify({ isValid: false, problems }, null, 2)}\n`);
  else {
    const file = Object.keys(sources)[0] ?? problems[0]!.file;
    const count = problems.length === 1 ? 'One problem' : `${problems.length} problems`;
    stderr.write(`${formatProblems(problems, sources)}\n\n${count} in ${file}.\n`);
  }
  return 2;
}

function readyIn({ scenarios = readyFolder() }: SimulateWorld): ReadyScenario[] {
  return readyScenarios(scenarios);
}

/** What looks like a path is one; a name may be cut off where it is clear already. */
function fileOf(target: string, world: SimulateWorld): string {
  if (/[/\\]|\.ya?ml$/i.test(target)) return target;
  const ready = readyIn(world);
  const exact = ready.find(({ name }) => name === target);
  if (exact !== undefined) return exact.file;
  if (existsSync(target)) return target;
  const begun = ready.filter(({ name }) => target !== '' && name.startsWith(target));
  if (begun.length === 1) return begun[0]!.file;
  throw new BadUsage(`There is no file and no ready scenario "${target}". ${wayOut(target, ready, begun)}`);
}

function wayOut(target: string, ready: readonly ReadyScenario[], begun: readonly ReadyScenario[]): string {
  if (begun.length > 1) return `So begin:\n${begun.map(({ name }) => `  ${name}`).join('\n')}`;
  const names = ready.map(({ name }) => name);
  // A slip in what was begun to be typed: held against as much of each name.
  const nearest =
    nearestName(target, names) ??
    nearestName(
      target,
      names.map((name) => name.slice(0, target.length)),
    );
  const meant = names.find((name) => nearest !== undefined && name.startsWith(nearest));
  return meant === undefined ? '"sluice simulate --list" shows what there is.' : `Did you mean ${meant}?`;
}

/** Before the run: whoever waited for it should not learn at its end that there is no such folder. */
function checkWritable(file: string): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw unwritable(file, 'it is a folder.');
    accessSync(found ? file : dirname(file), constants.W_OK);
  } catch (error) {
    throw error instanceof BadUsage ? error : unwritable(file, whyNotWritten(error));
  }
}

function writeSvg(file: string, result: ScenarioResult): void {
  try {
    writeFileSync(file, resultSvg(result));
  } catch (error) {
    throw unwritable(file, whyNotWritten(error));
  }
}

function whyNotWritten(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS' ? 'this user may not write it.' : whyNot(error);
}

function unwritable(file: string, why: string): BadUsage {
  return new BadUsage(`--svg must name a file that can be written, got ${file}: ${why}`);
}

function textOptions(options: SimulateOptions, { stdout, environment }: SimulateWorld): TextOptions {
  return { columns: columnsOf(options, stdout), paint: paintFor(stdout.isTTY === true, environment.NO_COLOR) };
}

function columnsOf({ columns }: SimulateOptions, { isTTY, columns: terminal }: ProgressStream): number {
  return columns ?? Math.min(mostColumns, (isTTY === true ? terminal : undefined) ?? usualColumns);
}
