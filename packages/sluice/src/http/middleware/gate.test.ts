import { describe, expect, it, vi } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { limiter } from '../../limit/limiter.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { gate, type Passage } from './gate.ts';
import type { RateLimitOptions } from './options.ts';
import type { RequestReader } from './request-reader.ts';

interface Asked {
  readonly peer?: string;
  readonly own?: string;
  readonly trust?: 'none' | 'some' | 'everyone';
  readonly forwarded?: string;
}

const reader: RequestReader<Asked> = {
  peerAddress: ({ peer }) => peer,
  header: ({ forwarded }, name) => (name === 'x-forwarded-for' ? forwarded : undefined),
  method: () => 'GET',
  path: () => '/',
  ownAddress: ({ own }) => own,
  ownTrust: ({ trust }) => trust ?? 'none',
};

const one = fixedWindow({ limit: 1, window: '1m' });

const byUser = { policy: undefined, rules: [{ name: 'by-user', key: 'user', policy: one }] };

/** As libraries have them that bring their own. */
function ofAnotherMake<T>(value: T): Promise<T> {
  // biome-ignore lint/suspicious/noThenProperty: that is what it is
  return { then: (next: (value: T) => unknown) => queueMicrotask(() => next(value)) } as never;
}

function passages(options: Partial<RateLimitOptions<Asked, string, unknown>>, requests: readonly Asked[]) {
  const told: string[] = [];
  const entrance = gate<Asked, string>(
    { policy: one, warn: (message: string) => told.push(message), ...options } as never,
    reader,
  );
  const seen = requests.map((request) => {
    const passage = entrance.enter(request);
    if (passage instanceof Promise) throw new Error('a memory store answers at once');
    return passage?.result.allowed;
  });
  return { seen, told };
}

describe('a gate', () => {
  it('limits by the address that the framework has, unless it is told of proxies itself', () => {
    const asked = { peer: '10.0.0.8', own: '203.0.113.9', trust: 'some', forwarded: '198.51.100.1' } as const;
    expect(passages({}, [asked, { ...asked, own: '203.0.113.10' }, asked]).seen).toEqual([true, true, false]);
    const other = { ...asked, own: '203.0.113.10' };
    expect(passages({ trustProxy: 1 }, [asked, other]).seen).toEqual([true, false]);
    expect(passages({ trustProxy: 0 }, [asked, { ...asked, forwarded: '198.51.100.2' }]).seen).toEqual([true, false]);
  });

  describe('whose own key is an address', () => {
    const byPeer = (options: { readonly ipv6Subnet?: number }, peers: readonly string[]) =>
      passages(
        { key: ({ peer }) => peer, ...options },
        peers.map((peer) => ({ peer })),
      ).seen;
    const subnet = ['2001:db8::1', '2001:DB8:0:0:0:0:0:2', '2001:db8:0:1::1', '2001:db8:1::1'];

    it('takes it for what the address of a request is: a subnet, or IPv4 in any dress', () => {
      expect(byPeer({}, subnet)).toEqual([true, false, false, true]);
      expect(byPeer({}, ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.2'])).toEqual([true, false, true]);
    });

    it('goes by the subnet it is told, which may be one address', () => {
      expect(byPeer({ ipv6Subnet: 64 }, subnet)).toEqual([true, false, true, true]);
      expect(byPeer({ ipv6Subnet: 128 }, [...subnet, '2001:db8:0:0:0:0:0:1'])).toEqual([true, true, true, true, false]);
    });

    it('does so for a key that comes later', async () => {
      const entrance = gate<Asked, string>({ policy: one, key: async ({ peer }) => peer, warn: false }, reader);
      const seen = [];
      for (const peer of subnet) seen.push((await entrance.enter({ peer }))?.result.allowed);
      expect(seen).toEqual([true, false, false, true]);
    });

    it('leaves alone what only looks like one', () => {
      expect(byPeer({}, ['a:b', 'a:c', 'user:1', 'user:2', '1:2', '1.2.3.4:5', '1.2.3.4:6'])).toEqual(
        Array(7).fill(true),
      );
    });
  });

  it.each([() => '5', async () => '5', () => undefined, () => null, () => ({}), () => Number.NaN, async () => -1])(
    'refuses the cost of %s',
    async (cost) => {
      const entrance = gate<Asked, string>({ policy: one, cost: cost as never, warn: false }, reader);
      await expect((async () => entrance.enter({ peer: '192.0.2.1' }))()).rejects.toThrow(
        'cost must be a finite number of 0 or more, got',
      );
    },
  );

  it.each([
    [{}, '1800000060'],
    [{ headers: { reset: 'epoch' } }, '1800000060'],
    [{ headers: { reset: 'delta' } }, '60'],
    [{ headers: { dialect: 'x-ratelimit', reset: 'delta' } }, '60'],
    [{ headers: { dialect: 'draft-6', reset: 'delta' } }, undefined],
    [{ headers: { dialect: [] } }, undefined],
  ] as const)('writes the reset as %j says', (options, reset) => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    try {
      const policy = fixedWindow({ limit: 1, window: '1m', align: 'first' });
      const entrance = gate<Asked, string>({ policy, warn: false, clock: new TestClock(0), ...options }, reader);
      const passage = entrance.enter({ peer: '192.0.2.1' }) as { readonly headers: Record<string, string> };
      expect(passage.headers['X-RateLimit-Reset']).toBe(reset);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each<[string, Asked, RegExp]>([
    ['a proxy that nobody was told of', { peer: '10.0.0.8', forwarded: '203.0.113.9' }, /no proxy is trusted/],
    [
      'a framework that believes everybody',
      { peer: '10.0.0.8', own: '1.2.3.4', trust: 'everyone' },
      /trusts every proxy/,
    ],
    ['requests without an address', {}, /has no address/],
  ])('warns of %s, once', (_, asked, message) => {
    const { told } = passages({}, [asked, { ...asked }, { ...asked }]);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(message);
    expect(told[0]).toMatch(/See sluice\/src\/http\/README\.md#[a-z-]+$/);
  });

  it('warns the process where nobody else wants to be told', () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    passages({ warn: undefined as never }, [{}]);
    passages({ warn: false }, [{}]);
    expect(emitted.mock.calls.map(([, options]) => options)).toEqual([{ type: 'SluiceWarning', code: 'no-address' }]);
    emitted.mockRestore();
  });

  describe('of a client that leaves while an option is waited for', () => {
    type Options = Partial<RateLimitOptions<Asked, string, unknown>>;
    const byAddress = { policy: undefined as never, rules: [{ name: 'x', policy: one, key: 'ip' }] };

    it.each<[what: string, options: Options]>([
      ['skip', { skip: async () => false }],
      ['cost', { cost: async () => 1 }],
      ['key', { key: async () => undefined }],
      ['key, behind proxies', { key: async () => undefined, trustProxy: ['10.0.0.0/8'] }],
      ['subject', { ...byAddress, subject: async () => ({ user: 'alice' }) }],
      ['skip, cost and key', { skip: async () => false, cost: async () => 1, key: async () => undefined }],
    ])('knows the address all the same (%s)', async (_, options) => {
      const told: string[] = [];
      const given = { policy: one, warn: (message: string) => told.push(message), ...options };
      const { policy, ...withoutPolicy } = given;
      const entrance = gate<Asked, string>((policy === undefined ? withoutPolicy : given) as never, reader);
      async function allowed(peer: string): Promise<boolean | undefined> {
        const asked: { peer?: string; own?: string; forwarded: string; trust: 'some' } = {
          peer: '10.0.0.8',
          own: peer,
          forwarded: peer,
          trust: 'some',
        };
        const passage = entrance.enter(asked);
        delete asked.peer;
        delete asked.own;
        return (await passage)?.result.allowed;
      }
      expect([await allowed('203.0.113.1'), await allowed('203.0.113.2'), await allowed('203.0.113.1')]).toEqual([
        true,
        true,
        false,
      ]);
      expect(told).toEqual([]);
    });

    it('needs no address where none is asked for, and tells what is wrong with it where one is', async () => {
      const told: string[] = [];
      const broken: RequestReader<Asked> = {
        ...reader,
        ownAddress() {
          throw new Error('no such setting');
        },
      };
      const options = { policy: one, warn: (message: string) => told.push(message) };
      const skipped = gate<Asked, string>({ ...options, skip: async () => true }, broken);
      expect(await skipped.enter({})).toBeUndefined();
      const asked = gate<Asked, string>({ ...options, skip: async () => false }, broken);
      await expect(asked.enter({})).rejects.toThrow('no such setting');
      const nowhere = gate<Asked, string>({ ...options, skip: async () => true }, reader);
      expect(await nowhere.enter({})).toBeUndefined();
      expect(told).toEqual([]);
    });
  });

  it('limits all that have no address as one', () => {
    expect(passages({}, [{}, {}]).seen).toEqual([true, false]);
  });

  it('shares its budget with a limiter of the same name in the same store', () => {
    const store = memoryStore();
    const shared = limiter(gcra({ limit: 2, window: '1m' }), { store, name: 'api' });
    expect(shared.check('203.0.113.9').allowed).toBe(true);
    const options = { store, name: 'api', policy: gcra({ limit: 2, window: '1m' }) };
    expect(passages(options, [{ peer: '203.0.113.9' }, { peer: '203.0.113.9' }]).seen).toEqual([true, false]);
  });

  it.each<[option: string, options: object]>([
    ['skip', { skip: () => ofAnotherMake(false) }],
    ['cost', { cost: () => ofAnotherMake(1) }],
    ['key', { key: () => ofAnotherMake('alice') }],
    ['subject', { ...byUser, subject: () => ofAnotherMake({ user: 'alice' }) }],
  ])('waits for promises of any make: of %s', async (_option, options) => {
    const entrance = gate<Asked, string>({ policy: one, warn: false, ...options } as never, reader);
    const seen = [await entrance.enter({ peer: 'a' }), await entrance.enter({ peer: 'a' })];
    expect(seen.map((passage) => passage?.result.allowed)).toEqual([true, false]);
    // By this frameworks recognise it.
    expect(entrance.enter({ peer: 'a' })).toBeInstanceOf(Promise);
  });

  it('gives a request the policy that it is told for it', () => {
    const policy = ({ peer }: Asked) => gcra({ limit: peer === 'rich' ? 2 : 1, window: '1m' });
    const requests = ['poor', 'poor', 'rich', 'rich', 'rich'].map((peer) => ({ peer }));
    expect(passages({ policy }, requests).seen).toEqual([true, false, true, true, false]);
  });

  it('settles once, and tells of what fails after the response', async () => {
    const errors: unknown[] = [];
    const costAfter = vi.fn(() => Promise.reject(new Error('no tokens known')));
    const options = { policy: one, costAfter, onError: (error: unknown) => errors.push(error), warn: false } as const;
    const entrance = gate<Asked, string>(options, reader);
    const passage = entrance.enter({ peer: 'a' });
    if (passage instanceof Promise || passage?.end === undefined) throw new Error('there is something to settle');
    passage.end({ status: 200, isComplete: true, response: 'x' });
    passage.end({ status: 200, isComplete: true, response: 'x' });
    await vi.waitFor(() => expect(errors).toHaveLength(1));
    expect(costAfter).toHaveBeenCalledTimes(1);
    // What was reserved stays spent.
    const again = entrance.enter({ peer: 'a' });
    expect(again instanceof Promise ? undefined : again?.result.allowed).toBe(false);
  });

  it('gives a place back also where nobody can say what the request took', async () => {
    const errors: unknown[] = [];
    const rules = [
      { name: 'places', policy: concurrency({ limit: 1 }) },
      { name: 'tokens', policy: fixedWindow({ limit: 2, window: '1m' }) },
    ];
    const costAfter = vi.fn().mockRejectedValueOnce(new Error('no tokens known')).mockResolvedValueOnce(Number.NaN);
    const options = { rules, costAfter, onError: (error: unknown) => errors.push(error), warn: false } as const;
    const entrance = gate<Asked, string>(options, reader);
    for (const many of [1, 2]) {
      const passage = entrance.enter({ peer: 'a' });
      if (passage instanceof Promise || passage?.end === undefined) throw new Error('there is something to settle');
      passage.end({ status: 200, isComplete: true, response: 'x' });
      await vi.waitFor(() => expect(errors).toHaveLength(many));
    }
    const third = entrance.enter({ peer: 'a' });
    const refusing = third instanceof Promise ? [] : third?.result.decisions.filter(({ allowed }) => !allowed);
    expect(refusing?.map(({ rule }) => rule)).toEqual(['tokens']);
  });

  it('has nothing to settle where nothing was held', () => {
    const ends = [one, concurrency({ limit: 1 })].map((policy) => {
      const passage = gate<Asked, string>({ policy, warn: false }, reader).enter({ peer: 'a' });
      return passage instanceof Promise ? undefined : typeof passage?.end;
    });
    expect(ends).toEqual(['undefined', 'function']);
  });

  it('tells of the wait for a limit before it, also where no other headers are shown', () => {
    const clock = new TestClock();
    const policies = [fixedWindow({ limit: 2, window: '1h' }), one];
    const gates = policies.map((policy) => gate<Asked, string>({ policy, clock, headers: false, warn: false }, reader));
    const said = [{ peer: 'a' }, { peer: 'a' }].map((request) =>
      gates.map((entrance) => (entrance.enter(request) as Passage<string>).headers),
    );
    // The second request was let in by the first limit, which has nothing left now.
    expect(said).toEqual([
      [{}, {}],
      [{}, { 'Retry-After': '3600' }],
    ]);
  });

  it('gives a place back that a listener has thrown away', () => {
    const onResult = vi.fn().mockImplementationOnce(() => {
      throw new Error('in the listener');
    });
    const entrance = gate<Asked, string>({ policy: concurrency({ limit: 1 }), onResult, warn: false }, reader);
    expect(() => entrance.enter({ peer: 'a' })).toThrow('in the listener');
    const again = entrance.enter({ peer: 'a' });
    expect(again instanceof Promise ? undefined : again?.result.allowed).toBe(true);
  });

  it('takes no options beside shared rules that those have already', () => {
    const shared = { check: () => {}, reserve: () => {}, release: () => {} };
    expect(() => gate({ rules: shared as never, shadow: true }, reader)).toThrow(
      'shadow must be left out beside what rules() made, got true. Give it to rules().',
    );
  });

  it('does not wait for ever for rules made elsewhere whose store does not answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const answers: ((result: unknown) => void)[] = [];
    const release = vi.fn();
    const shared = { check: () => new Promise((resolve) => answers.push(resolve)), reserve: () => {}, release };
    const entrance = gate<Asked, string>({ rules: shared as never, warn: false }, reader);
    const passage = entrance.enter({ peer: 'a' });
    await vi.advanceTimersByTimeAsync(1000);
    expect((await passage)?.refused).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
    // Let in too late, it has to give its place back.
    answers[0]?.({ allowed: true, tightest: undefined, decisions: [{ receipt: [1] }] });
    await vi.advanceTimersByTimeAsync(0);
    expect(release).toHaveBeenCalledTimes(1);
    const second = entrance.enter({ peer: 'a' });
    answers[1]?.({ allowed: true, tightest: undefined, decisions: [] });
    expect((await second)?.refused).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('tells a client to wait for the limit before it too, where that has nothing left', () => {
    const clock = new TestClock(0);
    const windowed = (limit: number, window: '1h' | '5s') => fixedWindow({ limit, window, align: 'first' });
    const hourly = gate<Asked, string>({ policy: windowed(2, '1h'), name: 'hourly', clock, warn: false }, reader);
    const burst = gate<Asked, string>({ policy: windowed(1, '5s'), name: 'burst', clock, warn: false }, reader);
    const ask = (request: Asked) => {
      const first = hourly.enter(request);
      if (first instanceof Promise || first?.refused) return first;
      return burst.enter(request);
    };
    ask({ peer: 'a' });
    const refused = ask({ peer: 'a' });
    if (refused instanceof Promise) throw new Error('a memory store answers at once');
    expect(refused?.headers).toMatchObject({ RateLimit: '"burst";r=0;t=3600', 'Retry-After': '3600' });
    expect(refused?.refused?.problem.detail).toBe('burst allows 1 in 5 s. Try again in 3600 s.');
    expect(refused?.result.tightest?.retryAfterMs).toBe(5000);
  });

  it('says of a request that is made again what is true now', () => {
    const clock = new TestClock(0);
    const [first] = ['a', 'b'].map((name) =>
      gate<Asked, string>({ policy: gcra({ limit: 1, window: '1s' }), name, clock, warn: false }, reader),
    );
    const again = { peer: 'a' };
    first?.enter(again);
    first?.enter(again);
    clock.advance(5000);
    const passage = first?.enter(again);
    if (passage instanceof Promise) throw new Error('a memory store answers at once');
    expect(passage?.headers['Retry-After']).toBeUndefined();
  });

  it('is not ended by one who throws when he is told of an error', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const onError = () => {
      throw new Error('no log');
    };
    gate<Asked, string>({ policy: one, onError, warn: false }, reader).report(new Error('lost'));
    expect(emitted.mock.calls.map(([message]) => message)).toEqual(['rateLimit: Error: no log']);
    emitted.mockRestore();
  });

  it('is not ended by one who fails later, whatever he was told of', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const heard: string[] = [];
    const later = async (what: string) => {
      await undefined;
      throw new Error(what);
    };
    const onError = (error: unknown) => {
      heard.push(String(error));
      return later('no log');
    };
    const onResult = () => later('no count');
    const entrance = gate<Asked, string>({ policy: one, onResult, onError, warn: () => later('no chat') }, reader);
    // Without an address, which is warned of.
    expect(await entrance.enter({})).toMatchObject({ result: { allowed: true } });
    // An error that nobody hears of fails the run.
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual(['Error: no count']);
    expect(emitted.mock.calls.map(([message]) => message)).toEqual([
      'rateLimit: Error: no chat',
      'rateLimit: Error: no log',
    ]);
    emitted.mockRestore();
  });

  it('never takes a key for an address, nor an object for a key', () => {
    const key = ({ own }: Asked) => own;
    const requests = [{ own: 'ip:10.0.0.8' }, { peer: '10.0.0.8' }, { own: 'key:ip:10.0.0.8' }, { own: 'ip:10.0.0.8' }];
    expect(passages({ key }, requests).seen).toEqual([true, true, true, false]);
    expect(() => passages({ key: () => ({ id: 42 }) as never }, [{}])).toThrow('key must be text, got {"id":42}.');
  });

  it('warns when a request is counted twice under one name in one store', () => {
    const told: string[] = [];
    const options = { policy: one, store: memoryStore(), warn: (message: string) => told.push(message) };
    const gates = [gate<Asked, string>(options, reader), gate<Asked, string>(options, reader)];
    const request = { peer: 'a' };
    for (const each of gates) each.enter(request);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/saw the same request twice/);
  });
});
