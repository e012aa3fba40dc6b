import { describe, expect, it } from 'vitest';
import { SluiceError } from '../vocabulary/errors.ts';
import { judgeBy, OncePass, runWithPass, sluiceCodeOf, threw } from './passes.ts';
import type { Outcome } from './protection.ts';

/** What a call says that ends with the reason of its signal. */
async function outcomeOf(reason: unknown): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const controller = new AbortController();
  const call = (signal?: AbortSignal) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped'))));
  const pass = new OncePass((outcome) => outcomes.push(outcome));
  const ran = runWithPass(
    pass,
    call,
    controller.signal,
    judgeBy(threw, () => false),
  );
  ran.catch(() => undefined);
  controller.abort(reason);
  await expect(ran).rejects.toThrow('stopped');
  return outcomes;
}

const foreign = Object.assign(new Error('late'), { name: 'SluiceError', code: 'timed-out' });

describe('a call whose signal was aborted', () => {
  // biome-ignore format: aligned rows
  it.each<[string, unknown, Outcome]>([
    [ 'by its caller, who says nothing',           undefined,                                       'ignored' ],
    [ 'by its caller, for a reason',               new Error('enough'),                             'ignored' ],
    [ 'for a reason that is no error',             'enough',                                        'ignored' ],
    [ 'for no reason',                             null,                                            'ignored' ],
    [ 'because its time was up',                   new DOMException('late', 'TimeoutError'),        'failed' ],
    [ 'by a timeout further out',                  new SluiceError('timed-out', 'late'),            'failed' ],
    [ 'by that of another copy of this package',   foreign,                                         'failed' ],
    [ 'by a protection further out that is open',  new SluiceError('circuit-open', 'open'),         'ignored' ],
  ])('%s', async (_, reason, outcome) => {
    expect(await outcomeOf(reason)).toEqual([outcome]);
  });
});

describe('the code of an error of Sluice', () => {
  it.each<[unknown, unknown]>([
    [new SluiceError('throttled', 'so'), 'throttled'],
    [foreign, 'timed-out'],
    [Object.assign(new Error('x'), { code: 'throttled' }), undefined],
    ['throttled', undefined],
    [undefined, undefined],
    [null, undefined],
  ])('%o', (error, code) => {
    expect(sluiceCodeOf(error)).toBe(code);
  });
});
