import { describe, expect, it } from 'vitest';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { rateLimit } from './index.ts';

const get = () => new Request('http://localhost/');
const key = () => 'alice';
const limit = () => rateLimit({ policy: gcra({ limit: 10, window: '1m' }), key });
const remaining = ({ headers }: Response) => headers.get('x-ratelimit-remaining');

describe('the headers on a response', () => {
  it('are written on the very response that the handler made, with its body as it was', async () => {
    const own = new Response('hello');
    const { body } = own;
    const answered = await limit()(async () => own)(get());
    expect([answered === own, answered.body === body, remaining(answered)]).toEqual([true, true, '9']);
  });

  it('are written on a copy of what Response.redirect made, which nobody may write to', async () => {
    const own = Response.redirect('http://localhost/other', 307);
    expect(() => own.headers.set('x', 'y')).toThrow(TypeError);
    const { status, headers } = await limit()(() => own)(get());
    expect([status, headers.get('location'), headers.get('x-ratelimit-remaining')]).toEqual([
      307,
      'http://localhost/other',
      '9',
    ]);
  });

  it('are written on a copy of what fetch() brought, which nobody may write to', async () => {
    const answered = await limit()(async () => fetch('data:text/plain,hello'))(get());
    expect([answered.status, remaining(answered), await answered.text()]).toEqual([200, '9', 'hello']);
    expect(answered.headers.get('content-type')).toBe('text/plain');
  });

  it('are each caller’s own, where a handler answers all of them with one response', async () => {
    const noContent = new Response(null, { status: 204, statusText: 'Nothing' });
    noContent.headers.append('set-cookie', 'a=1');
    noContent.headers.append('set-cookie', 'b=2');
    const answer = limit()(() => noContent);
    const answered = [await answer(get()), await answer(get())];
    expect(answered.map(remaining)).toEqual(['9', '8']);
    expect(answered.map(({ statusText }) => statusText)).toEqual(['Nothing', 'Nothing']);
    expect(answered[1]?.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(remaining(noContent)).toBeNull();
  });

  it('are each caller’s own also where that one is a 200 without a body', async () => {
    const empty = new Response(null, { headers: { 'x-own': '1' } });
    const answer = limit()(() => empty);
    const answered = [await answer(get()), await answer(get())];
    expect(answered.map(remaining)).toEqual(['9', '8']);
    expect(answered.map(({ headers }) => headers.get('x-own'))).toEqual(['1', '1']);
    expect(remaining(empty)).toBeNull();
  });

  it('do not ask a response that says its type for its body, which some servers would make a stream of', async () => {
    const own = Response.json({ hello: 1 });
    Object.defineProperty(own, 'body', { get: () => expect.fail('it was asked') });
    expect(remaining(await limit()(() => own)(get()))).toBe('9');
  });

  it('are not put on what is no answer', async () => {
    const error = Response.error();
    expect(await limit()(() => error)(get())).toBe(error);
    // Bun: the request has become a WebSocket.
    expect(await limit()(() => undefined)(get())).toBeUndefined();
  });

  it('speak of every limit that the request came by, and the handler has the last word', async () => {
    const near = rateLimit({ policy: gcra({ limit: 1, window: '1m' }), name: 'near', headers: 'draft-8', key });
    const answer = limit()(near(() => new Response('hello', { headers: { 'x-ratelimit-limit': 'mine' } })));
    const first = (await answer(get())).headers;
    expect([first.get('ratelimit'), first.get('x-ratelimit-limit')]).toEqual(['"near";r=0;t=60', 'mine']);
    const { status, headers } = await answer(get());
    expect([status, headers.get('retry-after'), headers.get('ratelimit-policy')]).toEqual([
      429,
      '60',
      '"default";q=10;w=60, "near";q=1;w=60',
    ]);
  });

  const refusals: [what: string, handler: () => Response | Promise<Response>, status: number, retryAfter: string][] = [
    ['a redirect', () => Response.redirect('http://localhost/slow-down'), 302, '60'],
    ['others', async () => new Response('no', { headers: { 'retry-after': '7' } }), 200, '7'],
  ];
  it.each(refusals)('are on a refusal that is %s of the handler’s', async (_what, handler, status, retryAfter) => {
    const answer = rateLimit({ policy: gcra({ limit: 1, window: '1m' }), key, handler })(() => new Response());
    await answer(get());
    const refused = await answer(get());
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect(refused.headers.get('ratelimit')).toBe('"default";r=0;t=60');
  });

  it('do not hide what goes wrong', async () => {
    const broken = new Response('hello');
    Object.defineProperty(broken, 'headers', {
      value: {
        has() {
          throw new RangeError('broken');
        },
      },
    });
    await expect(limit()(() => broken)(get())).rejects.toThrow('broken');
  });
});
