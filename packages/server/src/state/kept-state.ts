/** The counts of the memory store between runs: brought back at the start, saved at the end and every so often. Redis keeps its own. */
import type { ActiveOverride } from 'sluice';
import type { Config } from '../config/config.ts';
import type { Log } from '../service/log.ts';
import type { OpenStore } from '../service/open-store.ts';
import { restoreMemory, saveMemory } from './snapshot-file.ts';

/** Says which overrides there were. */
export async function restoreState(
  { snapshot }: Config,
  { memories }: OpenStore,
  log: Log,
): Promise<readonly ActiveOverride[]> {
  const overrides: ActiveOverride[] = [];
  for (const { suffix, memory } of snapshot ? memories : []) {
    const path = `${snapshot?.path}${suffix}`;
    const kept = await restoreMemory(path, memory);
    if (kept === undefined) continue;
    overrides.push(...kept.overrides);
    log.info({ path, keys: memory.stats().keys }, 'the state of the last run is back');
  }
  return overrides;
}

export async function saveState(
  { snapshot }: Config,
  { memories }: OpenStore,
  overrides: readonly ActiveOverride[],
): Promise<void> {
  if (snapshot === undefined) return;
  for (const { suffix, memory } of memories) {
    await saveMemory(`${snapshot.path}${suffix}`, memory, { overrides: suffix === '' ? overrides : [] });
  }
}

export function saveRegularly({ snapshot }: Config, save: () => Promise<void>, log: Log): NodeJS.Timeout | undefined {
  if (snapshot === undefined || snapshot.everyMs === 0) return undefined;
  let isSaving = false;
  const timer = setInterval(async () => {
    if (isSaving) return;
    isSaving = true;
    try {
      await save();
    } catch (error) {
      log.error({ err: error, path: snapshot.path }, 'the state could not be saved');
    } finally {
      isSaving = false;
    }
  }, snapshot.everyMs);
  return timer.unref();
}
