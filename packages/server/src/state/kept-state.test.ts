import { waitUntil } from '@sluice/test-servers';
import { expect, it } from 'vitest';
import { type StateFile, stateSaver } from './kept-state.ts';

const nothing = () => undefined;
const noLog = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const often = { snapshot: { path: 'state', everyMs: 1 } };

/** A file that is being written until somebody lets it go. */
function heldFile(path: string) {
  const happened: string[] = [];
  let letGo = nothing as () => void;
  const file: StateFile = {
    path,
    async write() {
      happened.push('begins');
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      happened.push('ends');
    },
  };
  return { file, happened, letGo: () => letGo() };
}

it('waits at its end for the save that is under way, and saves once more', async () => {
  const { file, happened, letGo } = heldFile('state');
  const saver = stateSaver(often, [file], noLog);
  await waitUntil('a save is under way', () => happened.length === 1);
  const ended = saver.end();
  const asked = saver.save();
  for (const saves of [1, 2, 3]) {
    await waitUntil('the next one is under way', () => happened.length === saves * 2 - 1);
    letGo();
  }
  await Promise.all([ended, asked]);
  expect(happened).toEqual(['begins', 'ends', 'begins', 'ends', 'begins', 'ends']);
});

it('does not let one file that fails keep the others from being saved, and says which', async () => {
  const saved: string[] = [];
  const said: unknown[] = [];
  const fileOf = (path: string, isWrong: boolean): StateFile => ({
    path,
    async write() {
      if (isWrong) throw new Error(`no room for ${path}`);
      saved.push(path);
    },
  });
  const files = [fileOf('state', true), fileOf('state.policies', false), fileOf('state.throttle', false)];
  const saver = stateSaver({ snapshot: { path: 'state', everyMs: 0 } }, files, {
    ...noLog,
    error: (fields, message) => said.push([message, (fields as { path: string }).path]),
  });
  await expect(saver.end()).rejects.toThrow('The state could not be saved: state');
  expect(saved).toEqual(['state.policies', 'state.throttle']);
  expect(said).toEqual([['the state could not be saved', 'state']]);
});

it('goes on saving after a save that failed', async () => {
  let tries = 0;
  const file: StateFile = {
    path: 'state',
    async write() {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
    },
  };
  const saver = stateSaver(often, [file], noLog);
  await waitUntil('it was tried again', () => tries >= 3);
  await saver.end();
});
