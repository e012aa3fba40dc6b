import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../vocabulary/errors.ts';
import type { Ended } from '../protection.ts';
import { type FallbackOptions, fallback } from './fallback.ts';

const down = new Error('down');
const fails = () => Promise.reject(down);

describe('fallback', () => {
  it('answers as the call does when it succeeds', async () => {
    const protection = fallback('instead');
    const used: unknown[] = [];
    protection.on('used', (event) => used.push(event));
    expect(await protection.run(async () => 'called')).toBe('called');
    expect(await protection.run(() => undefined)).toBeUndefined();
    expect(used).toEqual([]);
  });

  it.each([['a value'], [0], [null], [undefined], [[1, 2]]])('answers with %o where the call failed', async (value) => {
    expect(await fallback(value).run(fails)).toBe(value);
  });

  it('answers with what the function returns, at once or later, and tells it how the call ended', async () => {
    const given: unknown[] = [];
    const signal = new AbortController().signal;
    const make = (ended: Ended, signal?: AbortSignal) => {
      given.push(ended, signal);
      return 'made';
    };
    expect(await fallback(make).run(fails, { signal })).toBe('made');
    expect(given).toEqual([{ error: down }, signal]);
    expect(await fallback(async () => 'made later').run(fails)).toBe('made later');
  });

  it('answers for every error, those of Sluice too', async () => {
    const error = new SluiceError('circuit-open', 'open');
    expect(await fallback('instead').run(() => Promise.reject(error))).toBe('instead');
    expect(await fallback('instead').run(() => Promise.reject(undefined))).toBe('instead');
  });

  it('answers for what it is told to, values too, and for nothing else', async () => {
    const when = (ended: Ended) => 'value' in ended && ended.value === 503;
    const protection = fallback(200, { when });
    expect(await protection.run(() => 503)).toBe(200);
    expect(await protection.run(() => 404)).toBe(404);
    await expect(protection.run(fails)).rejects.toBe(down);
  });

  it('tells when it is used, and when it failed itself', async () => {
    const events: unknown[] = [];
    const works = fallback(() => 'made');
    works.on('used', (event) => events.push(event));
    await works.run(fails);
    expect(events).toEqual([{ ended: { error: down }, value: 'made' }]);
  });

  it('throws what the function throws, and tells both errors', async () => {
    const empty = new Error('no cache either');
    const events: unknown[] = [];
    for (const make of [
      () => Promise.reject(empty),
      () => {
        throw empty;
      },
    ]) {
      const protection = fallback(make);
      protection.on('failed', (event) => events.push(event));
      protection.on('used', (event) => events.push(event));
      await expect(protection.run(fails)).rejects.toBe(empty);
    }
    expect(events).toEqual([
      { ended: { error: down }, error: empty },
      { ended: { error: down }, error: empty },
    ]);
  });

  it('passes the signal on', async () => {
    const { signal } = new AbortController();
    expect(await fallback('instead').run((given) => given, { signal })).toBe(signal);
  });

  it('answers nobody who has given up', async () => {
    const controller = new AbortController();
    const protection = fallback('instead', { when: () => true });
    const { signal } = controller;
    const stopped = protection.run(
      (signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      { signal },
    );
    controller.abort('enough');
    await expect(stopped).rejects.toBe('enough');
    await expect(protection.run(() => 'called', { signal })).rejects.toBe('enough');
  });

  it('a mistake of when is the caller’s', async () => {
    const when = () => {
      throw new Error('a mistake');
    };
    await expect(fallback('instead', { when }).run(fails)).rejects.toThrow('a mistake');
  });

  it.each([
    [{ when: true }, 'when must be a function'],
    [{ if: () => true }, 'fallback options has no field "if"'],
    [null, 'fallback options'],
  ])('refuses %o', (options, message) => {
    expect(() => fallback('instead', options as FallbackOptions)).toThrow(message);
  });
});
