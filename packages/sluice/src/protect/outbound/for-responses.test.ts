import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../vocabulary/errors.ts';
import { PassingClock } from '../passing-clock.test-support.ts';
import type { Ended } from '../protection.ts';
import { retry } from '../retry/retry.ts';
import { type ForResponsesOptions, forResponses } from './for-responses.ts';

const headers = (retryAfter: string) => ({ 'Retry-After': retryAfter });
const withStatus = (status: number) =>
  Object.assign(new Error('http'), { response: { status, headers: headers('3') } });

describe('retry around whatever answers with a status', () => {
  // biome-ignore format: aligned rows
  it.each<[string, Ended, boolean, number | undefined]>([
    [ 'a response that is well',           { value: new Response('ok') },                                              false, undefined ],
    [ 'a 404',                             { value: new Response(null, { status: 404 }) },                             false, undefined ],
    [ 'a 503',                             { value: new Response(null, { status: 503 }) },                             true,  undefined ],
    [ 'a 503 that says when',              { value: new Response(null, { status: 503, headers: headers('7') }) },      true,  7000 ],
    [ 'a 429 of a limit that is used up',  { value: new Response(null, { status: 429, headers: { RateLimit: '"p";r=0;t=5' } }) }, true, 5000 ],
    [ 'a 200 of a limit that is used up',  { value: new Response(null, { headers: { RateLimit: '"p";r=0;t=5' } }) },   false, undefined ],
    [ 'an answer of undici',               { value: { statusCode: 502, headers: { 'retry-after': '2' } } },            true,  2000 ],
    [ 'an error with a status',            { error: Object.assign(new Error('no'), { statusCode: 404 }) },             false, undefined ],
    [ 'an error with a response',          { error: withStatus(503) },                                                 true,  3000 ],
    [ 'an error of the connection',        { error: new TypeError('fetch failed') },                                   true,  undefined ],
    [ 'no error at all',                   { error: undefined },                                                       true,  undefined ],
    [ 'a call that was not made',          { error: new SluiceError('circuit-open', 'open') },                         false, undefined ],
    [ 'a wrong argument',                  { error: Object.assign(new Error('no'), { code: 'UND_ERR_INVALID_ARG' }) }, false, undefined ],
    [ 'what is no response',               { value: 'text' },                                                          false, undefined ],
    [ 'nothing',                           { value: undefined },                                                       false, undefined ],
  ])('%s', (_, ended, isRetryable, waitMs) => {
    const options = forResponses({ clock: new PassingClock(1_750_000_000_000) });
    expect([options.isRetryable(ended, 1), options.waitFor(ended)]).toEqual([isRetryable, waitMs]);
  });

  it('obeys Retry-After', async () => {
    const clock = new PassingClock(1_750_000_000_000);
    const atMs: number[] = [];
    const answer = retry({ ...forResponses({ clock }), clock, random: () => 0 }).run(async () => {
      atMs.push(clock.now() - 1_750_000_000_000);
      return new Response(null, { status: atMs.length < 2 ? 503 : 200, headers: headers('20') });
    });
    await clock.pass(60_000);
    expect((await answer).status).toBe(200);
    expect(atMs).toEqual([0, 20_000]);
  });

  it('is told what the numbers of a reset are', () => {
    const value = new Response(null, {
      status: 429,
      headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '5000' },
    });
    expect(forResponses({ reset: 'milliseconds' }).waitFor({ value })).toBe(5000);
    expect(forResponses().waitFor({ value })).toBe(5_000_000);
  });

  it('takes statuses of your own', () => {
    const { isRetryable } = forResponses({ statuses: [404] });
    expect([404, 503].map((status) => isRetryable({ value: { status } }, 1))).toEqual([true, false]);
  });

  it.each([
    [{ statuses: '503' }, 'statuses must be a list of HTTP statuses'],
    [{ status: [503] }, 'forResponses options has no field "status"'],
    [{ reset: 'minutes' }, 'reset must be'],
    [{ clock: Date }, 'clock must be an object with now() and sleep()'],
  ])('%j is refused', (options, message) => {
    expect(() => forResponses(options as ForResponsesOptions)).toThrow(message);
  });
});
