/**
 * From a file to a scenario, or to everything that is wrong with it, each with its line:
 *
 *      file ──► YAML ──► what the command line says instead ──► parseScenario (@sluice/simulator) ──► Scenario
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseScenario, type Scenario, ScenarioError, type Traffic } from '@sluice/simulator';
import { type Path, type Problem, pathText } from '../config/problem.ts';
import { whyNot } from '../config/why-not.ts';
import { byteOrderMark, largestFileBytes, readYaml, type YamlSource } from '../config/yaml-source.ts';
import type { LogTraffic } from './read-log-traffic.ts';

export interface ScenarioOverrides {
  readonly seed?: number | undefined;
  /** `5m` */
  readonly duration?: string | undefined;
}

export type ReadScenario = {
  /** What was read, by the name of its file, so that problems can be shown with their lines. */
  readonly sources: Readonly<Record<string, string>>;
} & ({ readonly scenario: Scenario; readonly notes: readonly string[] } | { readonly problems: readonly Problem[] });

/** The calls of a log, from the file of this name; rejects with a sentence where there are none. */
export type ReadLog = (file: string) => Promise<LogTraffic>;

export async function readScenario(
  file: string,
  overrides: ScenarioOverrides,
  readLog: ReadLog,
): Promise<ReadScenario> {
  const whole = (message: string) => ({ problems: [{ file, line: 0, column: 0, path: '', message }], sources: {} });
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > largestFileBytes) return whole(`The file has ${size} bytes; the most is ${largestFileBytes}.`);
    text = readFileSync(file, 'utf8').replace(byteOrderMark, '');
  } catch (error) {
    return whole(`The file cannot be read: ${whyNot(error)}`);
  }
  const sources = { [file]: text };
  const source = readYaml(text);
  const wrong = source.problems.length > 0 ? source.problems : notAMap(source.data);
  if (wrong.length > 0) return { problems: wrong.map((problem) => ({ file, ...problem })), sources };
  const { seed, duration } = overrides;
  const given = { ...(seed === undefined ? {} : { seed }), ...(duration === undefined ? {} : { duration }) };
  const data = { ...(source.data as Data), ...given };
  const logs = await logsOf(data, dirname(file), readLog);
  try {
    const scenario = parseScenario(data, { readLog: (path) => logOf(path, logs) });
    const notes = [...logs.values()].flatMap((log) => (log instanceof Error ? [] : log.notes));
    return { scenario, notes, sources };
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    const problems = error.problems.map((message) => problemOf(message, file, source, Object.keys(given)));
    return { problems: problems.sort((a, b) => a.line - b.line || a.column - b.column), sources };
  }
}

type Data = Readonly<Record<string, unknown>>;

function notAMap(data: unknown): Omit<Problem, 'file'>[] {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return [];
  const got = data === null || data === undefined ? 'nothing' : Array.isArray(data) ? 'a list' : `a ${typeof data}`;
  const message = `The file must be a map with a name, a duration and traffic, got ${got}. "sluice simulate --list" shows ready ones.`;
  return [{ line: 1, column: 1, path: '', message }];
}

/** A scenario is read in one go, and logs are not: those that it names are read before. Their names begin where the scenario is. */
async function logsOf({ traffic }: Data, folder: string, readLog: ReadLog): Promise<Map<string, LogTraffic | Error>> {
  const logs = new Map<string, LogTraffic | Error>();
  const shapes: readonly unknown[] = Array.isArray(traffic) ? traffic : [];
  for (const shape of shapes) {
    const { shape: kind, log } = (shape ?? {}) as Data;
    if (kind !== 'replay' || typeof log !== 'string' || log === '' || logs.has(log)) continue;
    try {
      logs.set(log, await readLog(resolve(folder, log)));
    } catch (error) {
      logs.set(log, error as Error);
    }
  }
  return logs;
}

function logOf(path: string, logs: ReadonlyMap<string, LogTraffic | Error>): Traffic {
  const log = logs.get(path);
  if (log instanceof Error) throw log;
  return log?.traffic ?? [];
}

/** A problem begins with its place, such as `traffic[1].rate`; where there is none it is of the file as a whole. */
function problemOf(message: string, file: string, source: YamlSource, given: readonly string[]): Problem {
  const path = pathOf(message);
  // What was typed is not on any line.
  if (given.includes(String(path[0]))) {
    return { file: 'command line', line: 0, column: 0, path: pathText(path), message };
  }
  const part = / is (no|not a) field/.test(message) ? 'name' : 'value';
  return { file, ...source.positionOf(path, part), path: pathText(path), message };
}

const placePattern = /^[a-z][\w-]*(?:\.[\w-]+|\[\d+\])*/;

function pathOf(message: string): Path {
  const place = placePattern.exec(message)?.[0] ?? '';
  return [...place.matchAll(/([\w-]+)|\[(\d+)\]/g)].map(([step]) =>
    step.startsWith('[') ? Number(step.slice(1, -1)) : step,
  );
}
