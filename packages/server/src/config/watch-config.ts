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
import { basename, dirname, resolve } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Log } from '../service/log.ts';
import { contentOf, signatureOf } from './watched-content.ts';

export interface WatchConfigOptions {
  /** Files and folders. In folders, the YAML files count. */
  readonly paths: readonly string[];
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
  close(): Promise<void>;
}

/** Something may be written to all the time; it is looked at all the same, after so many quiet times. */
const mostPostponements = 20;

/** Folders in folders; the bound is that of a mistake, such as watching the root of a disk. */
const deepestFolder = 8;

export function watchConfig(options: WatchConfigOptions): ConfigWatch {
  const { onChange, log, quietMs = 100, everyMs = 10_000 } = options;
  const paths = options.paths.map((path) => resolve(path));
  if (paths.length === 0) return { ready: Promise.resolve(), close: async () => undefined };

  let isClosed = false;
  let quiet: NodeJS.Timeout | undefined;
  let postponements = 0;
  let known: { readonly content: string; readonly signature: string };
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

  async function start(): Promise<FSWatcher> {
    known = { signature: await signatureOf(paths), content: await contentOf(paths) };
    const watcher = await watchFolders(paths, onEvent, (error) =>
      log.warn(
        { err: error, everyMs },
        'the configuration cannot be watched for events; it is looked at every so often',
      ),
    );
    // Something may have changed before the first event could be heard.
    enqueue(look);
    return watcher;
  }

  const started = start();
  work = started.then(() => undefined);
  return {
    ready: started.then(() => work),
    async close() {
      isClosed = true;
      clearTimeout(quiet);
      clearInterval(every);
      const watcher = await started;
      await watcher.close();
      await work;
    },
  };
}

/** Resolves when events can be heard. */
async function watchFolders(
  paths: readonly string[],
  onEvent: () => void,
  onError: (error: unknown) => void,
): Promise<FSWatcher> {
  const parents = new Set(paths.map((path) => dirname(path)));
  const isOurs = (path: string) => paths.some((own) => path === own || path.startsWith(`${own}/`));
  const watcher = watch([...parents, ...paths], {
    ignoreInitial: true,
    depth: deepestFolder,
    // A folder that holds a thousand other things must not cost a thousand watches; its own events tell of swapped links.
    ignored: (path) => !parents.has(path) && !isOurs(path),
  });
  watcher.on('all', onEvent);
  // Links that were swapped are no event of a file; the folder's own event is all there is. It names what changed in the folder.
  const names = new Set(paths.map((path) => basename(path)));
  watcher.on('raw', (_event, name) => {
    const changed = basename(String(name ?? ''));
    if (changed === '' || changed.startsWith('..') || names.has(changed)) onEvent();
  });
  watcher.on('error', onError);
  await new Promise<void>((resolveReady) => watcher.once('ready', resolveReady));
  return watcher;
}
