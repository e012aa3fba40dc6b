/**
 * What stands in the files and folders of a configuration, as one short text that changes when they do. Links are followed, so a
 * swapped link is a change when, and only when, it leads to something else. What is not there, or may not be read, is a content
 * too: that it came to be so is worth knowing.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A file or folder whose change is a change of the configuration. */
export interface WatchedPath {
  readonly path: string;
  /** Taken before it was read: what changes afterwards is a change, and none can fall between the two. */
  readonly content: string;
}

/** The most files of a path that are looked at; the readers of the files have bounds of their own, and complain. */
const mostFiles = 10_000;
const deepestFolder = 16;

/** By their contents: certain, and as expensive as reading them. */
export async function contentOf(paths: readonly string[]): Promise<string> {
  const contents: string[] = [];
  for (const path of paths) contents.push(await answeredLater(digest(path), hashOfFile));
  return joinedContent(contents);
}

/** To be called before the path is read. */
export function watchedPath(path: string): WatchedPath {
  return { path, content: answeredNow(digest(path)) };
}

/** The content of several paths, of those of each. */
export function joinedContent(contents: readonly string[]): string {
  return contents.join(' ');
}

/** By what the file system says of them: cheap, and blind to a second change within the grain of its clock. */
export async function signatureOf(paths: readonly string[]): Promise<string> {
  const signatures: string[] = [];
  for (const path of paths) {
    const signature = await answeredLater(digest(path), async (file) => {
      const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file);
      return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
    });
    signatures.push(signature);
  }
  return signatures.join(' ');
}

interface Answers {
  readonly stat: Stats;
  readonly realpath: string;
  readonly readdir: string[];
  /** Whatever tells this content of a file from others. */
  readonly describe: string;
}

type Question = readonly [what: keyof Answers, path: string];

/** Whoever watches can wait for the file system; whoever reads a configuration cannot. So the walk only asks. */
type Walk<Result> = Generator<Question, Result, Answers[keyof Answers]>;

function* digest(path: string): Walk<string> {
  const hash = createHash('sha256');
  const seen = new Set<string>();
  const add = (of: string, what: string) => hash.update(JSON.stringify([of, what]));

  function* visit(at: string, depth: number): Walk<void> {
    if (seen.size >= mostFiles || depth > deepestFolder) return;
    try {
      const found = (yield ['stat', at]) as Stats;
      const isFile = found.isFile() && (depth === 0 || /\.ya?ml$/.test(at));
      if (!isFile && !found.isDirectory()) return;
      const real = (yield ['realpath', at]) as string;
      if (seen.has(real)) return;
      seen.add(real);
      if (isFile) {
        add(at, (yield ['describe', at]) as string);
        return;
      }
      // Hidden names are how Kubernetes keeps the versions of a volume; what is in force has a name that leads there.
      const names = ((yield ['readdir', at]) as string[]).filter((name) => !name.startsWith('.')).sort();
      for (const name of names) yield* visit(join(at, name), depth + 1);
    } catch (error) {
      add(at, String((error as NodeJS.ErrnoException).code));
    }
  }

  yield* visit(path, 0);
  return hash.digest('hex');
}

async function answeredLater<Result>(walk: Walk<Result>, describe: (path: string) => Promise<string>): Promise<Result> {
  const ask: { readonly [What in keyof Answers]: (path: string) => Promise<Answers[What]> } = {
    stat: (path) => stat(path),
    realpath: (path) => realpath(path),
    readdir: (path) => readdir(path),
    describe,
  };
  let step = walk.next();
  while (!step.done) {
    const [what, path] = step.value;
    step = await ask[what](path).then(
      (answer) => walk.next(answer),
      (error) => walk.throw(error),
    );
  }
  return step.value;
}

function answeredNow<Result>(walk: Walk<Result>): Result {
  const ask: { readonly [What in keyof Answers]: (path: string) => Answers[What] } = {
    stat: (path) => statSync(path),
    realpath: (path) => realpathSync(path),
    readdir: (path) => readdirSync(path),
    describe: (path) => hashOf(readFileSync(path)),
  };
  let step = walk.next();
  while (!step.done) {
    const [what, path] = step.value;
    let answer: Answers[keyof Answers];
    try {
      answer = ask[what](path);
    } catch (error) {
      step = walk.throw(error);
      continue;
    }
    step = walk.next(answer);
  }
  return step.value;
}

async function hashOfFile(path: string): Promise<string> {
  return hashOf(await readFile(path));
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
