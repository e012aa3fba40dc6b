/** The counts of the memory store between runs: brought back at the start, saved at the end and every so often. Redis keeps its own. */
import type { ActiveOverride } from 'sluice';
import type { Config } from '../config/config.ts';
import type { Log } from '../service/log.ts';
import type { OpenStore } from '../service/open-store.ts';
import { type Restored, removeLeftovers, restoreMemory, saveMemory } from './snapshot-file.ts';

/** A file of the state; each holds a part of its own. */
export interface StateFile {
  readonly path: string;
  /** Writes what is to be kept now. */
  write(): Promise<void>;
}

export interface StateSaver {
  /** Resolves when every file was tried, after a save that is under way; rejects when one could not be written. */
  save(): Promise<void>;
  /** The last save; none follows. */
  end(): Promise<void>;
}

/** Says which overrides there were, and under which names state is kept. */
export async function restoreState({ snapshot }: Config, { memories }: OpenStore, log: Log): Promise<Restored> {
  const overrides: ActiveOverride[] = [];
  const names: string[] = [];
  for (const { suffix, memory } of snapshot ? memories : []) {
    const path = `${snapshot?.path}${suffix}`;
    await removeLeftovers(path);
    const kept = await restoreMemory(path, memory);
    if (kept === undefined) continue;
    overrides.push(...kept.overrides);
    names.push(...kept.names);
    log.info({ path, keys: memory.stats().keys }, 'the state of the last run is back');
  }
  return { overrides, names };
}

/** The files of a store's memory; the overrides are in the first. */
export function memoryFiles(
  { snapshot }: Config,
  { memories }: OpenStore,
  overrides: () => readonly ActiveOverride[],
): readonly StateFile[] {
  if (snapshot === undefined) return [];
  return memories.map(({ suffix, memory }) => {
    const path = `${snapshot.path}${suffix}`;
    return { path, write: () => saveMemory(path, memory, { overrides: suffix === '' ? overrides() : [] }) };
  });
}

/** Saves the files every so often, where that was asked for, and at the end. One save at a time: each file has one writer. */
export function stateSaver({ snapshot }: Pick<Config, 'snapshot'>, files: readonly StateFile[], log: Log): StateSaver {
  let work: Promise<unknown> = Promise.resolve();
  let isBusy = false;
  const timer =
    snapshot === undefined || snapshot.everyMs === 0
      ? undefined
      : setInterval(() => {
          // What failed is in the log, and tried again the next time.
          if (!isBusy) save().catch(() => undefined);
        }, snapshot.everyMs).unref();

  function save(): Promise<void> {
    const saved = work.then(writeAll);
    work = saved.catch(() => undefined);
    return saved;
  }

  /** One that fails, because its disk is full or its place is taken, keeps no other from being written. */
  async function writeAll(): Promise<void> {
    isBusy = true;
    const failed = new Map<string, unknown>();
    for (const { path, write } of files) {
      try {
        await write();
      } catch (error) {
        failed.set(path, error);
        log.error({ err: error, path }, 'the state could not be saved');
      }
    }
    isBusy = false;
    if (failed.size > 0) {
      throw new AggregateError(failed.values(), `The state could not be saved: ${[...failed.keys()].join(', ')}`);
    }
  }

  return {
    save,
    end() {
      clearInterval(timer);
      return save();
    },
  };
}
