/**
 * From a file, the environment and the command line to a configuration, or to everything that is wrong with them:
 *
 *      file ──┐
 *      environment ──┼──► one map ──► form (schema) ──► rules (library) ──► the rest (build-config) ──► Config
 *      command line ─┘
 *
 * The command line wins over the environment, that over the file, that over the defaults.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { buildConfig } from './build-config.ts';
import type { Config } from './config.ts';
import { configVariable, type Environment, type GivenSetting, readEnvironment, typedValue } from './environment.ts';
import { firstProblems, type Path, type Problem, pathText } from './problem.ts';
import { type Origin, type ProblemList, problemList } from './problem-list.ts';
import { type ReadRules, readRules } from './read-rules.ts';
import { settings } from './settings.ts';
import { structureProblems } from './structure.ts';
import { joinedContent, watchedPath } from './watched-content.ts';
import { whyNot } from './why-not.ts';
import { byteOrderMark, largestFileBytes, readYaml } from './yaml-source.ts';

export interface ReadConfigOptions {
  /** The file. Default: the one that `SLUICE_CONFIG` names; without either there is none, and there are no rules. */
  readonly path?: string | undefined;
  /** What stands in the file, for those who have it already. */
  readonly text?: string | undefined;
  /** Default: no variables. */
  readonly environment?: Environment;
  /** Settings of the command line by their path in the file: `{ 'listen.http': 9000 }`. Undefined counts as not given. */
  readonly overrides?: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** What to watch, and what was known of it before it was read. */
export interface WatchedFiles {
  /** Files and folders whose change is a change of the configuration, absolute. */
  readonly watched: readonly string[];
  /** What stood in them (`watched-content.ts`). */
  readonly watchedContent: string;
}

export type ReadConfigResult = {
  /** What was read, by the name of its file, so that problems can be shown with their lines. */
  readonly sources: Readonly<Record<string, string>>;
} & (({ readonly config: Config } & WatchedFiles) | { readonly problems: readonly Problem[] });

export type Data = Readonly<Record<string, unknown>>;

export function readConfig(options: ReadConfigOptions = {}): ReadConfigResult {
  const { environment = {}, overrides = {} } = options;
  const path = options.path ?? (options.text === undefined ? environment[configVariable] || undefined : undefined);
  const file = path ?? 'configuration';
  const { given, problems: wrongVariables } = readEnvironment(environment);
  const own = path === undefined ? [] : [watchedPath(resolve(path))];
  const read = options.text === undefined && path !== undefined ? readText(path) : { text: options.text };
  if ('problem' in read) {
    return {
      problems: [{ file, line: 0, column: 0, path: '', message: read.problem }, ...wrongVariables],
      sources: {},
    };
  }
  const { text } = read;
  const sources = text === undefined ? {} : { [file]: text };
  const source = text === undefined ? undefined : readYaml(text);
  const fromSource = (source?.problems ?? []).map((problem): Problem => ({ file, ...problem }));
  if (source !== undefined && !isMap(source.data)) {
    const problems = fromSource.length > 0 ? fromSource : [notAMap(file, source.data)];
    return { problems: [...problems, ...wrongVariables], sources };
  }

  const data = structuredClone((source?.data ?? {}) as Data);
  const origins = new Map<string, Origin>();
  for (const { setting, value } of given) {
    if (put(data, setting.path.split('.'), value))
      origins.set(setting.path, { file: 'environment', name: setting.variable });
  }
  for (const { setting, value } of fromCommandLine(overrides)) {
    if (put(data, setting.path.split('.'), value))
      origins.set(setting.path, { file: 'command line', name: setting.path });
  }

  const list = problemList(file, source, origins);
  const rules = checkForm(data, list);
  const build = buildConfig({
    data,
    rules,
    list,
    isFromFile: (setting) => !origins.has(setting),
    folder: path === undefined ? process.cwd() : dirname(resolve(path)),
  });
  const inFile = firstProblems([...fromSource, ...list.all()], (message) => ({
    file,
    line: 0,
    column: 0,
    path: '',
    message,
  }));
  const problems = [...inFile, ...wrongVariables];
  if (problems.length > 0) return { problems, sources };
  const files = [...own, ...build.watched];
  return {
    config: build.config,
    watched: files.map((file) => file.path),
    watchedContent: joinedContent(files.map(({ content }) => content)),
    sources,
  };
}

/** Form first; where the library has more to say about a value of a rule, it is heard instead. */
function checkForm(data: Data, list: ProblemList): ReadRules {
  const form = structureProblems(data);
  const { rules, problems: ofRules } = readRules(data, form);
  const heard = new Set<string>();
  // A file made by a program may be wrong in each of its thousands of rules: places are looked up, not searched for.
  const saidByForm = new Set(form.filter(({ kind }) => kind !== 'value').map(({ path }) => pathText(path)));
  for (const { path, message, part } of ofRules) {
    const place = pathText(path);
    // A text where a number belongs is best said in the words of the schema; the library knows what numbers are for.
    if (saidByForm.has(place)) continue;
    heard.add(place);
    list.add(path, message, part);
  }
  for (const { path, kind, message } of form) {
    if (!heard.has(pathText(path))) list.add(path, message, kind === 'unknown' ? 'name' : 'value');
  }
  return rules;
}

function readText(path: string): { readonly text: string } | { readonly problem: string } {
  try {
    const { size } = statSync(path);
    if (size > largestFileBytes) return { problem: `The file has ${size} bytes; the most is ${largestFileBytes}.` };
    const text = readFileSync(path, 'utf8').replace(byteOrderMark, '');
    // An editor that writes in place leaves an empty file for a moment. Taken at its word it would lift every limit.
    if (text.trim() === '') return { problem: 'The file is empty. For a service without rules write "rules: []".' };
    return { text };
  } catch (error) {
    return { problem: `The file cannot be read: ${whyNot(error)}` };
  }
}

function notAMap(file: string, data: unknown): Problem {
  const message =
    data === null || data === undefined
      ? 'The file holds nothing. For a service without rules write "rules: []".'
      : `The file must be a map of settings, such as "rules:" with a list under it, got ${Array.isArray(data) ? 'a list' : `a ${typeof data}`}.`;
  return { file, line: 1, column: 1, path: '', message };
}

function fromCommandLine(overrides: NonNullable<ReadConfigOptions['overrides']>): GivenSetting[] {
  return Object.entries(overrides).flatMap(([path, value]) => {
    if (value === undefined) return [];
    const setting = settings.find((one) => one.path === path);
    // The names are the program's own, not the user's.
    if (setting === undefined) throw new Error(`There is no setting ${path}.`);
    return [{ setting, value: typeof value === 'string' ? typedValue(value, setting.schema) : value }];
  });
}

/** False when something stands in the way that is no map; that is a problem of its own. */
function put(data: Data, path: Path, value: unknown): boolean {
  let at = data as Record<string, unknown>;
  for (const step of path.slice(0, -1)) {
    if (!Object.hasOwn(at, step)) at[step] = {};
    const next = at[step];
    if (!isMap(next)) return false;
    at = next as Record<string, unknown>;
  }
  at[path.at(-1) as string] = value;
  return true;
}

function isMap(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
