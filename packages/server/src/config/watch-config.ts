/**
 * Tells when the files of a configuration have changed.
 *
 *      event ──► quiet for a moment ──► another content? ──► onChange
 *      every so often ─────────────────►
 *
 * Folders are watched, not files: editors put a new file in the place of the old one, and Kubernetes swaps a link beside it
 * (`..data`), after which a watch of the old file would never hear anything again. An event means only "look": whether something
 * changed, the content says. File systems that send no events are looked at every so often.
 */
import { watch as watchFolder } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type FSWatcher, watch } from 'chokidar';
import type { Log } from '../service/log.ts';
import { contentOf, signatureOf } from './watched-content.ts';

/** What is watched. */
export interface Watched {
  /** Files and folders. In folders, the YAML files count. */
  readonly paths: readonly string[];
  /** What stood in them before they were read (`contentOf`); what stands there by now may be another. Default: what is found. */
  readonly content?: string | undefined;
}

export interface WatchConfigOptions extends Watched {
  /** Called once for each change, never while the last call is still at work. */
  readonly onChange: () => void | Promise<void>;
  readonly log: Log;
  /** How long nothing must happen before the content is looked at: a file is seldom written in one go. Default 100. */
  readonly quietMs?: number;
  /** How often to look without an event. 0: never. Default 10,000. */
  readonly everyMs?: number;
}

export interface ConfigWatch {
  /** From here on no change is missed. */
  readonly ready: Promise<void>;
  /** From now on these, where they are others than before. May be called by `onChange`. */
  follow(watched: Watched): void;
  close(): Promise<void>;
}

/** Something may be written to all the time; it is looked at all the same, after so many quiet times. */
const mostPostponements = 20;

/** Folders in folders; the bound is that of a mistake, such as watching the root of a disk. */
const deepestFolder = 8;

export function watchConfig(options: WatchConfigOptions): ConfigWatch {
  const { onChange, log, quietMs = 100, everyMs = 10_000 } = options;
  let paths = absolute(options);
  // Those that will be watched when all that waits is done.
  let latestPaths = paths;
  let isClosed = false;
  let quiet: NodeJS.Timeout | undefined;
  let postponements = 0;
  let known: { readonly content: string; readonly signature: string };
  let stopListening = async (): Promise<void> => undefined;
  // Looks and changes go one after the other, and no more than one waits.
  let work: Promise<void> = Promise.resolve();
  let isLookWaiting = false;

  function onEvent(): void {
    if (isClosed || (quiet !== undefined && postponements >= mostPostponements)) return;
    clearTimeout(quiet);
    postponements += 1;
    quiet = setTimeout(() => {
      quiet = undefined;
      postponements = 0;
      enqueue(look);
    }, quietMs);
  }

  function enqueue(task: () => Promise<void>): void {
    if (isLookWaiting || isClosed) return;
    isLookWaiting = true;
    work = work.then(async () => {
      isLookWaiting = false;
      if (!isClosed) await task();
    });
  }

  async function look(): Promise<void> {
    // The signature first: what changes between the two is found by the next look.
    const signature = await signatureOf(paths);
    const content = await contentOf(paths);
    const isSame = content === known.content;
    known = { content, signature };
    if (isSame) return log.debug({ paths }, 'the files of the configuration were touched, not changed');
    if (isClosed) return;
    try {
      await onChange();
    } catch (error) {
      log.error({ err: error }, 'a change of the configuration could not be handled');
    }
  }

  const every =
    everyMs === 0
      ? undefined
      : setInterval(
          () => enqueue(async () => ((await signatureOf(paths)) === known.signature ? undefined : look())),
          everyMs,
        ).unref();

  async function listen({ content }: Watched): Promise<void> {
    if (isClosed) return;
    const stopBefore = stopListening;
    known = { signature: await signatureOf(paths), content: content ?? (await contentOf(paths)) };
    stopListening = await watchFolders(paths, onEvent, (error) =>
      log.warn(
        { err: error, everyMs },
        'the configuration cannot be watched for events; it is looked at every so often',
      ),
    );
    await stopBefore();
    // Something may have changed before the first event could be heard.
    if (!isClosed && paths.length > 0) await look();
  }

  const started = listen(options);
  work = started;
  return {
    ready: started.then(() => work),
    follow(next) {
      const nextPaths = absolute(next);
      if (isClosed || isDeepStrictEqual(nextPaths, latestPaths)) return;
      latestPaths = nextPaths;
      work = work.then(() => {
        paths = nextPaths;
        return listen(next);
      });
    },
    async close() {
      isClosed = true;
      clearTimeout(quiet);
      clearInterval(every);
      await work;
      await stopListening();
    },
  };
}

function absolute({ paths }: Watched): readonly string[] {
  return paths.map((path) => resolve(path));
}

/** Resolves when events can be heard. */
async function watchFolders(
  paths: readonly string[],
  onEvent: () => void,
  onError: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const watchers = [...(await namesByFolder(paths))].flatMap(([folder, names]) => {
    try {
      const watcher = watchFolder(folder, (_event, name) => {
        if (name === null || isOfSwap(name) || names.has(name)) onEvent();
      });
      return watcher.on('error', onError);
    } catch (error) {
      onError(error);
      return [];
    }
  });
  const trees = await watchTrees(await foldersOf(paths), onEvent, onError);
  return async () => {
    for (const watcher of watchers) watcher.close();
    await trees?.close();
  };
}

/**
 * What to listen for in which folder: where the paths are, and where links lead. The folder may be one that is written to all the time
 * (the access log is beside the file): an event of another name must cost no more than to read its name.
 */
async function namesByFolder(paths: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const names = new Map<string, Set<string>>();
  for (const path of paths) {
    // What is not there leads nowhere yet.
    const real = await realpath(path).catch(() => path);
    for (const one of [path, real]) names.set(dirname(one), (names.get(dirname(one)) ?? new Set()).add(basename(one)));
  }
  return names;
}

async function foldersOf(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  return paths.filter((_, i) => found[i]?.isDirectory());
}

async function watchTrees(
  folders: readonly string[],
  onEvent: () => void,
  onError: (error: unknown) => void,
): Promise<FSWatcher | undefined> {
  if (folders.length === 0) return undefined;
  const watcher = watch([...folders], { ignoreInitial: true, depth: deepestFolder });
  watcher.on('all', onEvent);
  // Links that were swapped are no event of a file; the folder's own event is all there is. It names what changed in the folder.
  watcher.on('raw', (_event, name) => {
    if (isOfSwap(basename(String(name ?? '')))) onEvent();
  });
  watcher.on('error', onError);
  await new Promise<void>((resolveReady) => watcher.once('ready', resolveReady));
  return watcher;
}

/** `..data`, as Kubernetes calls it; without a name it may be. */
function isOfSwap(name: string): boolean {
  return name === '' || name.startsWith('..');
}
