import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../algorithms/gcra/gcra.ts';
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { Store } from '../stores/store.ts';
import { TestClock } from '../testing/test-clock.ts';
import type { Policy } from '../vocabulary/policy.ts';
import { type Limiter, limiter } from './limiter.ts';

const three = fixedWindow({ limit: 3, window: '1m', align: 'first' });
const policies: readonly Policy[] = [three, gcra({ limit: 3, window: '1m' }), slidingLog({ limit: 3, window: '1m' })];
const modes = ['exact', 'fingerprint'] as const;
const encoder = new TextEncoder();

/** The ways to a store: short and long, and those that only the long way has. */
const ways: Readonly<Record<string, (policy: Policy, clock: TestClock) => Limiter>> = {
  'a store of its own': (policy, clock) => limiter(policy, { clock }),
  'a store with exact keys': (policy, clock) => limiter(policy, { store: memoryStore({ clock }) }),
  'a store with fingerprints': (policy, clock) =>
    limiter(policy, { store: memoryStore({ clock, keys: 'fingerprint' }) }),
  'a store without a short way': (policy, clock) => {
    const { apply } = memoryStore({ clock });
    return limiter(policy, { store: { mode: 'sync', clock, apply } });
  },
  'a clock of its own': (policy, clock) => limiter(policy, { clock, store: memoryStore({ clock }) }),
};

describe.each(Object.entries(ways))('a key of bytes, by %s,', (_, build) => {
  /** The same for a bucket, a window and a log. */
  const each = (test: (limit: Limiter) => void) => {
    for (const policy of policies) test(build(policy, new TestClock(1000)));
  };

  it('is the key of its text', () =>
    each((limit) => {
      for (const key of ['', 'alice', 'kéy', '日本', '💧', '\ufeffmark', 'x'.repeat(1000)]) {
        const bytes = encoder.encode(key);
        expect(limit.checkBytes(bytes)).toMatchObject({ allowed: true, remaining: 2 });
        expect(limit.check(key)).toMatchObject({ allowed: true, remaining: 1 });
        expect(limit.allowBytes(bytes)).toBe(true);
        expect(limit.checkBytes(bytes)).toMatchObject({ allowed: false, reason: 'limit', remaining: 0 });
        expect([limit.allowBytes(bytes), limit.allow(key)]).toEqual([false, false]);
        limit.reset(key);
        expect(limit.checkBytes(bytes, 0, bytes.length, 3).remaining).toBe(0);
      }
    }));

  it('may be any range of a larger buffer', () =>
    each((limit) => {
      const request = encoder.encode('GET /é HTTP/1.1 x-key: alice');
      const start = request.length - 5;
      expect(limit.checkBytes(request, start).remaining).toBe(2);
      expect(limit.checkBytes(new Uint8Array(request.buffer, start, 5)).remaining).toBe(1);
      expect(limit.checkBytes(Buffer.from('>>alice<<'), 2, 7).remaining).toBe(0);
      expect(limit.check('alice').allowed).toBe(false);
      expect(limit.checkBytes(request, start, start + 4).remaining).toBe(2);
      expect(limit.check('alic').remaining).toBe(1);
      expect(limit.checkBytes(request, 3, 3).remaining).toBe(2);
      expect(limit.check('').remaining).toBe(1);
    }));

  it('is read when asked, and not kept: the buffer may be used again', () =>
    each((limit) => {
      const buffer = encoder.encode('alice');
      limit.checkBytes(buffer);
      buffer.set(encoder.encode('carol'));
      expect(limit.checkBytes(buffer).remaining).toBe(2);
      expect(limit.check('alice').remaining).toBe(1);
      expect(limit.check('carol').remaining).toBe(1);
    }));

  it('is limited though it is no UTF-8, and is nobody else', () =>
    each((limit) => {
      for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
        const asked = [1, 2, 3, 4].map(() => limit.allowBytes(Uint8Array.from(bytes)));
        expect(asked).toEqual([true, true, true, false]);
        expect(limit.checkBytes(Uint8Array.from(bytes))).toMatchObject({ allowed: false, remaining: 0 });
      }
      for (const key of ['\ufffd', 'a\ufffd', '\ud800']) expect(limit.check(key).remaining).toBe(2);
    }));

  it('is blocked and in debt with its text', () =>
    each((limit) => {
      const bytes = encoder.encode('kéy');
      limit.block('kéy', '1s');
      expect(limit.checkBytes(bytes)).toMatchObject({ allowed: false, reason: 'blocked' });
      limit.reset('kéy');
      limit.penalize('kéy', 5);
      expect(limit.allowBytes(bytes)).toBe(false);
    }));

  it('takes the cost it is given, and refuses one that is none', () =>
    each((limit) => {
      const bytes = encoder.encode('key');
      expect(limit.checkBytes(bytes, 0, 3, 1).remaining).toBe(2);
      expect(limit.checkBytes(bytes, 0, 3, 0)).toMatchObject({ allowed: true, remaining: 2 });
      for (const cost of [Number.NaN, -1, Number.POSITIVE_INFINITY, '1' as never, null as never, 1n as never]) {
        for (const call of [limit.checkBytes, limit.allowBytes]) {
          expect(() => call(bytes, 0, 3, cost)).toThrow('cost must be a finite number of 0 or more');
          expect(() => call(encoder.encode('new'), 0, 3, cost)).toThrow('cost must be a finite number of 0 or more');
        }
      }
      expect(limit.checkBytes(bytes, 0, 3, 4).retryAfterMs).toBe(Number.POSITIVE_INFINITY);
      expect(limit.allowBytes(bytes, 0, 3, 3)).toBe(false);
      expect(limit.allowBytes(bytes, 0, 3, 2)).toBe(true);
      expect(limit.peek('new', 0).remaining).toBe(3);
    }));

  it.each([
    [-1, 2],
    [0, 4],
    [2, 1],
    [4, 4],
    [0.5, 2],
    [0, 1.5],
    [Number.NaN, 2],
    [0, Number.NaN],
    ['0', 2],
    [0, null],
  ])('is refused as a range from %s to %s of three bytes', (start, end) => {
    const limit = build(three, new TestClock());
    for (const call of [limit.checkBytes, limit.allowBytes]) {
      expect(() => call(new Uint8Array(3), start as number, end as number)).toThrow(
        'bytes, start and end must be a Uint8Array and a range within it, got ["object",',
      );
    }
    expect(limit.peek('', 0).remaining).toBe(3);
  });

  it.each([
    ['text', 'key'],
    ['a list', [1, 2, 3]],
    ['a buffer', new ArrayBuffer(3)],
    ['wider numbers', new Uint16Array(3)],
    ['an object with a length', { length: 3 }],
    ['a number', 3],
    ['null', null],
    ['undefined', undefined],
  ])('is refused as %s', (_name, bytes) => {
    const limit = build(three, new TestClock());
    for (const call of [limit.checkBytes, limit.allowBytes]) {
      expect(() => call(bytes as never)).toThrow('bytes, start and end must be a Uint8Array and a range within it');
      expect(() => call(bytes as never, 0, 3)).toThrow('must be a Uint8Array and a range within it');
    }
  });
});

describe('keys of bytes', () => {
  it.each(modes)('are limited like their texts, whatever they hold: %s keys', (keys) => {
    const key = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }).map((text) => encoder.encode(text)),
      fc.uint8Array(),
    );
    fc.assert(
      fc.property(
        fc.array(key, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (all, calls) => {
          const limit = limiter(three, { store: memoryStore({ clock: new TestClock(), keys }) });
          const used = new Map<string, number>();
          for (const call of calls) {
            const bytes = all[call % all.length]!;
            const before = used.get(String(bytes)) ?? 0;
            used.set(String(bytes), before + 1);
            expect(limit.allowBytes(bytes)).toBe(before < 3);
          }
        },
      ),
    );
  });

  it('refund a reservation that has ended, as every call does', () => {
    const clock = new TestClock();
    const limit = limiter(slidingLog({ limit: 3, window: '1m' }), { clock });
    limit.reserve('key', 3, { expiresIn: '1s', onExpire: 'refund' });
    expect(limit.allowBytes(encoder.encode('key'))).toBe(false);
    clock.advance(1000);
    expect(limit.checkBytes(encoder.encode('key'))).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('are promised an answer by a store that answers later', async () => {
    const clock = new TestClock();
    const inner = memoryStore({ clock });
    const store: Store<'async'> = { mode: 'async', clock, apply: async (checks, atMs) => inner.apply(checks, atMs) };
    const limit = limiter(three, { store, name: 'api' });
    const buffer = encoder.encode('<kéy>');
    const answer = limit.checkBytes(buffer, 1, buffer.length - 1);
    expect(answer).toBeInstanceOf(Promise);
    // The key was read when it was asked for.
    buffer.fill(0);
    expect(await answer).toMatchObject({ allowed: true, remaining: 2 });
    expect(await limit.allowBytes(encoder.encode('kéy'), 0, 4, 2)).toBe(true);
    expect(await limit.allow('kéy')).toBe(false);
    expect(await limit.allowBytes(Uint8Array.of(0xff))).toBe(true);
    await expect(limit.checkBytes(buffer, 9)).rejects.toThrow('a range within it');
  });
});
