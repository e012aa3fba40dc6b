import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { concurrency } from '../../algorithms/concurrency/concurrency.ts';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts';
import { slidingSlots } from '../../algorithms/sliding-slots/sliding-slots.ts';
import { type Limiter, limiter } from '../../limit/limiter.ts';
import { rules } from '../../limit/rules.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Clock } from '../../vocabulary/clock.ts';
import type { Policy } from '../../vocabulary/policy.ts';
import { seededRandom } from '../../vocabulary/random.ts';
import { conformance } from '../conformance/conformance.ts';
import type { Store } from '../store.ts';
import type { HammerOrders } from './hammer.test-support.ts';
import { layoutOf } from './layout.ts';
import { type Held, Places } from './places.ts';
import { sharedMemoryStore } from './shared-memory-store.ts';

describe('conformance', () => {
  for (const { name, run } of conformance) {
    it(name, () => run(({ clock }) => sharedMemoryStore({ clock, maxKeys: 100, cellsPerKey: 10_004 })));
  }
});

// Threads run plain JavaScript: the hammer is bundled once, and not as a module of its own, which takes a thread longer to start.
const folder = mkdtempSync(join(tmpdir(), 'sluice-shared-'));
const hammer = join(folder, 'hammer.cjs');

beforeAll(async () => {
  await build({
    input: fileURLToPath(new URL('./hammer.test-support.ts', import.meta.url)),
    platform: 'node',
    output: { file: hammer, format: 'cjs' },
    logLevel: 'silent',
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

const hourlyPolicies: readonly Policy[] = [
  gcra({ limit: 100, window: '30d' }),
  slidingSlots({ limit: 100, window: '1h', slots: 10 }),
  slidingLog({ limit: 100, window: '1h' }),
];

function signalsFor(keys: readonly string[]): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * (2 + keys.length)));
}

/** A thread that is ready to start. */
async function hammerWith(orders: HammerOrders): Promise<Worker> {
  const worker = new Worker(hammer, { workerData: orders, env: SHARE_ENV, execArgv: [] });
  await message(worker);
  return worker;
}

function message(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function start(signals: Int32Array): void {
  Atomics.store(signals, 0, 1);
  Atomics.notify(signals, 0);
}

describe('several threads', () => {
  it.each(hourlyPolicies)('grant exactly the limit between them: $algorithm', async (policy) => {
    const keys = ['a', 'b', 'c'];
    const store = sharedMemoryStore({ maxKeys: 10, cellsPerKey: 300 });
    const signals = signalsFor(keys);
    const orders = { buffer: store.buffer, lockPatienceMs: 10_000, policy: { ...policy }, keys, calls: 3000, signals };
    const threads = await Promise.all([1, 2, 3, 4].map(() => hammerWith(orders)));
    const done = threads.map(message);
    start(signals);
    await Promise.all(done);
    expect([...signals.slice(2)]).toEqual([100, 100, 100]);
    expect(store.stats()).toMatchObject({ keys: 3, brokenLocks: 0 });
    await Promise.all(threads.map((thread) => thread.terminate()));
  });

  it('see what the others have used, blocked and reset', () => {
    const first = sharedMemoryStore({ maxKeys: 10 });
    const second = sharedMemoryStore({ buffer: first.buffer });
    const policy = gcra({ limit: 2, window: '1h' });
    const [here, there] = [first, second].map((store) => limiter(policy, { store, name: 'both' }));
    expect([here?.allow('k'), there?.allow('k'), here?.allow('k')]).toEqual([true, true, false]);
    there?.reset('k');
    expect(here?.peek('k')).toMatchObject({ allowed: true, remaining: 1 });
    here?.block('k', '1h');
    expect(there?.check('k')).toMatchObject({ allowed: false, reason: 'blocked' });
  });

  it('know what was used under a policy that only another has', () => {
    const clock = new TestClock(1_700_000_000_000);
    const first = sharedMemoryStore({ clock, maxKeys: 10, cellsPerKey: 20 });
    const second = sharedMemoryStore({ buffer: first.buffer, clock });
    for (const make of [gcra, slidingLog]) {
      const limitOf = (limit: number, store: Store<'sync'>): Limiter =>
        limiter(make({ limit, window: '1h' }) as Policy, { store, name: make.name });
      const here = limitOf(10, first);
      expect(here.check('k', 2).remaining).toBe(8);
      expect(limitOf(20, second).check('k', 3).remaining).toBe(15);
      expect(here.check('k').remaining).toBe(4);
    }
  });

  it('keep all or nothing over many rules', () => {
    const first = sharedMemoryStore({ maxKeys: 10 });
    const policies = [gcra({ limit: 5, window: '1h' }), gcra({ limit: 3, window: '1h' })];
    const [here, there] = [first, sharedMemoryStore({ buffer: first.buffer })].map((store) =>
      rules(
        policies.map((policy, i) => ({ name: `rule-${i}`, policy, key: 'user' })),
        { store },
      ),
    );
    const answers = Array.from({ length: 6 }, (_, i) => (i % 2 ? here : there)?.check({ user: 'u' }));
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, true, false, false, false]);
    expect(answers.at(-1)?.decisions.map(({ remaining }) => remaining)).toEqual([2, 0]);
  });
});

describe('a thread that dies inside', () => {
  // Each death somewhere else: within the arithmetic, between the writes, before the lock is given back.
  it('frees no key, a thousand times over', { timeout: 300_000 }, async () => {
    const deaths = 1000;
    const random = seededRandom(7);
    const keys = ['a', 'b'];
    const limit = 20;
    const policies = [
      gcra({ limit, window: '30d' }),
      slidingSlots({ limit, window: '1h', slots: 4 }),
      slidingLog({ limit, window: '1h' }),
    ];
    let inside = 0;
    async function die(): Promise<void> {
      const policy = policies[Math.floor(random() * policies.length)] as Policy;
      const store = sharedMemoryStore({ maxKeys: 10, cellsPerKey: 300, lockPatienceMs: 1 });
      const survivor = limiter(policy, { store, name: 'hammered' });
      const signals = signalsFor(keys);
      const orders = { buffer: store.buffer, lockPatienceMs: 1, policy: { ...policy }, keys, calls: 200, signals };
      const victim = await hammerWith({ ...orders, stopAfter: 1 + Math.floor(random() * 600) });
      const over = Promise.race([message(victim), stopped(signals)]);
      start(signals);
      await over;
      if (signals[1] === 1) inside += 1;
      await victim.terminate();
      keys.forEach((key, at) => {
        for (let i = 0; i < 2 * limit; i += 1) if (survivor.allow(key)) signals[2 + at]! += 1;
        expect(signals[2 + at], `${key} of ${policy.algorithm}`).toBeLessThanOrEqual(limit);
        // Nor is it held for ever.
        expect(survivor.check(key).retryAfterMs).toBeLessThan(Number.POSITIVE_INFINITY);
      });
    }
    for (let i = 0; i < deaths; i += 4) await Promise.all([die(), die(), die(), die()]);
    // Some finish before their time has come; most do not.
    expect(inside).toBeGreaterThan(deaths / 2);
  });

  /** Resolves when the thread has stopped inside. */
  async function stopped(signals: Int32Array): Promise<void> {
    // Woken and not asking again and again: the processor is for those who are to be killed.
    await Atomics.waitAsync(signals, 1, 0).value;
  }

  it('leaves a key that counts as full until its window has passed, and then is as good as new', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 10, lockPatienceMs: 1 });
    const subject = limiter(gcra({ limit: 10, window: '10s' }), { store, name: 'torn' });
    subject.check('k');
    const layout = layoutOf(store.buffer);
    const at = placeOfTheOnlyKey(layout);
    // A lock taken and never given back, by somebody who had begun to write.
    layout.words[at]! += 1;
    layout.floats[at / 2 + 6]! += 1;
    expect(subject.check('k')).toMatchObject({ allowed: false, retryAfterMs: 1000, resetAfterMs: 10_000 });
    expect(store.stats().brokenLocks).toBe(1);
    clock.advance(999);
    expect(subject.allow('k')).toBe(false);
    clock.advance(1);
    expect(subject.allow('k')).toBe(true);
    clock.advance(10_000);
    expect(subject.peek('k').remaining).toBe(9);
  });

  it('before it has written anything leaves the key as it was, and its call counts for nothing', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 10, lockPatienceMs: 1 });
    const subject = limiter(gcra({ limit: 10, window: '10s' }), { store, name: 'whole' });
    subject.check('k');
    const layout = layoutOf(store.buffer);
    const at = placeOfTheOnlyKey(layout);
    for (const remaining of [8, 7]) {
      layout.words[at]! += 1;
      expect(subject.check('k')).toMatchObject({ allowed: true, remaining });
    }
    expect(store.stats().brokenLocks).toBe(2);
  });

  it('anywhere in what it writes leaves a row as it was, as it was to be, or torn', () => {
    const layout = layoutOf(sharedMemoryStore({ maxKeys: 10 }).buffer);
    const { words, places: at, stride } = layout;
    const places = new Places(layout, 1);
    const image = places.image();
    /** The whole of the row of this many cells, as `write` leaves it. */
    function rowOf(cells: readonly number[]): Int32Array {
      image.words.fill(0);
      image.words.set([7, 8, 9, cells.length], 2);
      image.floats.set(cells, 6);
      words.set(image.words.subarray(2), at + 2);
      words[at] = 4;
      expect(places.write(at, places.lock(at, 7, 8), image)).toBe(true);
      return words.slice(at, at + stride);
    }
    const before = rowOf([3, 1_700_000_000_000]);
    const after = rowOf([4, 1_700_000_000_000.5, 60_000]);
    // The sum comes last, and the cells after the policy and their number.
    const order = [4, 5, ...Array.from({ length: stride - 8 }, (_, i) => 8 + i), 1];
    const stateOf = (row: Int32Array) => [...row.subarray(4, 2 * (6 + row[5]!))];
    const outcomes: unknown[] = [];
    for (let written = 0; written <= order.length; written += 1) {
      words.set(before, at);
      words[at] = before[0]! + 1;
      for (const word of order.slice(0, written)) words[at + word] = after[word]!;
      // What was read before is of another row.
      image.words.fill(-1);
      const isWhole = places.read(at, places.lock(at, 7, 8), image);
      outcomes.push(isWhole ? stateOf(image.words) : 'torn');
    }
    expect(outcomes[0]).toEqual(stateOf(before));
    expect(outcomes.at(-1)).toEqual(stateOf(after));
    // The policy is the same, and the rest differs from the number of cells on.
    expect(new Set(outcomes.slice(2, -1))).toEqual(new Set(['torn']));
  });

  it.each([-6, -2_147_483_646, 2_147_483_647])(
    'or bytes that were spoilt, with %d cells, take nothing over from another row',
    (length) => {
      const layout = layoutOf(sharedMemoryStore({ maxKeys: 10 }).buffer);
      const places = new Places(layout, 1);
      const image = places.image();
      const tokens = [1, 2].map((key) => {
        const held = places.insert(key, key, () => false) as Held;
        const { words } = layout;
        if (key === 2) words[held.at + 5] = length;
        return [held.at, held.token] as const;
      });
      expect(tokens.map(([at, token]) => places.read(at, token, image))).toEqual([true, false]);
    },
  );

  it('cannot undo a block', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 10, lockPatienceMs: 1 });
    const subject = limiter(gcra({ limit: 10, window: '1s' }), { store, name: 'torn' });
    subject.check('k');
    subject.block('k', '1h');
    const layout = layoutOf(store.buffer);
    layout.words[placeOfTheOnlyKey(layout)]! += 1;
    clock.advance(60_000);
    expect(subject.check('k')).toMatchObject({ allowed: false, reason: 'blocked' });
  });

  it('that was only slow finds that its writes do not count', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 10, lockPatienceMs: 1 });
    const subject = limiter(gcra({ limit: 10, window: '10s' }), { store, name: 'slow' });
    subject.check('k');
    const layout = layoutOf(store.buffer);
    const slow = new Places(layout, 1);
    const at = placeOfTheOnlyKey(layout);
    const [low, high] = [layout.words[at + 2], layout.words[at + 3]] as [number, number];
    const token = slow.lock(at, low, high);
    const image = slow.image();
    expect(slow.read(at, token, image)).toBe(true);
    // What it will write, and has not looked once more whether it may.
    const copied = new SharedArrayBuffer(store.buffer.byteLength);
    new Uint8Array(copied).set(new Uint8Array(store.buffer));
    const written = layoutOf(copied);
    expect(new Places(written, 1).write(at, token, image)).toBe(true);
    expect(subject.allow('k')).toBe(true); // Waits, breaks the lock, and goes on with the row as it was.
    expect(slow.write(at, token, image)).toBe(false);
    for (let i = 1; i < layout.stride; i += 1) layout.words[at + i] = written.words[at + i]!;
    expect(subject.allow('k')).toBe(false);
    clock.advance(999);
    expect(subject.allow('k')).toBe(false);
  });

  it('while it adds a key leaves no place behind for ever', async () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 2, lockPatienceMs: 1 });
    const layout = layoutOf(store.buffer);
    const dead = new Places(layout, 1);
    // Each got a place for its key, and was heard of no more.
    for (const high of [1, 2]) expect(dead.insert(high, high, () => false)).toBeTypeOf('object');
    const bucket = limiter(gcra({ limit: 1, window: '1s' }), { store, name: 'left' });
    await vi.waitFor(() => expect(bucket.allow('a')).toBe(true));
    await vi.waitFor(() => expect(bucket.allow('b')).toBe(true));
  });

  it('and whose key never comes again leaves no place behind for ever', async () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 2, cellsPerKey: 20, lockPatienceMs: 1 });
    const subject = limiter(slidingSlots({ limit: 1, window: '1s', slots: 4 }), { store, name: 'left' });
    expect([subject.allow('a'), subject.allow('b')]).toEqual([true, true]);
    const { words, places, stride } = layoutOf(store.buffer);
    for (let at = places; at < words.length; at += stride) if (words[at + 3] !== 0) words[at]! += 1;
    const newcomers = () => ['c', 'd', 'e'].map((key) => subject.check(key).reason);
    const isBroken = () => {
      expect(newcomers()).toEqual(['store-full', 'store-full', 'store-full']);
      expect(store.stats().brokenLocks).toBe(2);
    };
    // What they used still counts.
    await vi.waitFor(isBroken);
    clock.advance(10_000);
    expect(newcomers()).toEqual([undefined, undefined, 'store-full']);
  });

  it('or stands still inside gives its answer anew, and no grant of others is lost', () => {
    const clock = new TestClock(1_700_000_000_000);
    const policy = slidingSlots({ limit: 5, window: '1s', slots: 4 });
    const store = sharedMemoryStore({ clock, maxKeys: 10, cellsPerKey: 20, lockPatienceMs: 1 });
    const others = limiter(policy, { store, name: 'stalled' });
    let onReading = () => {};
    const stalling: Clock = {
      now() {
        onReading();
        return clock.now();
      },
      sleep: clock.sleep,
    };
    const stalled = limiter(policy, {
      store: sharedMemoryStore({ buffer: store.buffer, clock: stalling, lockPatienceMs: 1 }),
      name: 'stalled',
    });
    others.check('k');
    // The lock is held while the clock is read: what happens here happens to a thread that stands still.
    onReading = () => {
      onReading = () => {};
      expect(others.allow('k')).toBe(true); // Waited, and took it for dead.
    };
    expect(stalled.allow('k')).toBe(true);
    expect(others.peek('k', 0).remaining).toBe(2);
    onReading = () => {
      onReading = () => {};
      others.block('k', '1h');
    };
    stalled.check('k', { cost: 1 });
    expect(others.check('k')).toMatchObject({ allowed: false, reason: 'blocked' });
  });

  it("while it registers a policy changes nobody else's", () => {
    const store = sharedMemoryStore({ maxKeys: 10, lockPatienceMs: 1 });
    const layout = layoutOf(store.buffer);
    // It took a number and wrote half of its entry.
    layout.words[7] = 1;
    layout.words[layout.policies + 1] = 50;
    const subject = limiter(gcra({ limit: 1, window: '1h' }), { store, name: 'half' });
    expect([subject.allow('k'), subject.allow('k')]).toEqual([true, false]);
    const other = limiter(gcra({ limit: 1, window: '1h' }), {
      store: sharedMemoryStore({ buffer: store.buffer }),
      name: 'half',
    });
    expect(other.allow('k')).toBe(false);
  });

  function placeOfTheOnlyKey({ words, places, stride }: ReturnType<typeof layoutOf>): number {
    let at = places;
    while (words[at + 3] === 0) at += stride;
    return at;
  }
});

describe('what is not known', () => {
  it('counts as used: a longer window than the history covers', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 10, cellsPerKey: 300 });
    const subject = limiter(slidingLog({ limit: 10, window: '1s' }), { store, name: 'log' });
    for (let i = 0; i < 30; i += 1) {
      expect(subject.allow('k')).toBe(true);
      clock.advance(100);
    }
    subject.update(slidingLog({ limit: 30, window: '10s' }));
    expect(subject.allow('k')).toBe(false);
  });

  it('does not make keys of other names wait', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 4, cellsPerKey: 20 });
    const short = limiter(gcra({ limit: 1, window: '1s' }), { store, name: 'short' });
    const long = limiter(slidingSlots({ limit: 1, window: '1h', slots: 4 }), { store, name: 'long' });
    for (let i = 0; i < 20; i += 1) {
      short.check(`key-${i}`);
      clock.advance(1000);
    }
    expect(long.allow('k')).toBe(true);
  });

  it.each([Number.NaN, undefined, Number.POSITIVE_INFINITY])(
    'refuses a clock that says %s, and forgets nothing',
    (time) => {
      let nowMs: unknown = 1_700_000_000_000;
      const clock: Clock = { now: () => nowMs as number, sleep: () => Promise.resolve() };
      const store = sharedMemoryStore({ clock, maxKeys: 10, cellsPerKey: 20 });
      const subject = limiter(slidingSlots({ limit: 1, window: '1h', slots: 4 }), { store, name: 'slots' });
      expect(subject.allow('k')).toBe(true);
      nowMs = time;
      expect(() => subject.allow('k')).toThrow('the time of the clock must be milliseconds');
      nowMs = 1_700_000_000_001;
      expect(subject.allow('k')).toBe(false);
      expect(store.stats().brokenLocks).toBe(0);
    },
  );
});

describe('the bound', () => {
  it('refuses newcomers of a strict policy rather than forget a key', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 2, cellsPerKey: 20 });
    const subject = limiter(slidingSlots({ limit: 1, window: '1m', slots: 4 }), { store, name: 'strict' });
    expect(['a', 'b'].map((key) => subject.allow(key))).toEqual([true, true]);
    expect(subject.check('c')).toMatchObject({ allowed: false, reason: 'store-full' });
    expect(store.stats()).toMatchObject({ keys: 2, refusedNewcomers: 1, evictedLiveKeys: 0 });
    clock.advance(80_000);
    expect(subject.allow('c')).toBe(true);
  });

  it('evicts the key closest to new under another policy', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 2 });
    const subject = limiter(gcra({ limit: 10, window: '1m' }), { store, name: 'bucket' });
    subject.check('a', 9);
    subject.check('b', 2);
    expect(subject.allow('c')).toBe(true);
    expect(store.stats()).toMatchObject({ keys: 2, evictedLiveKeys: 1 });
    expect([subject.peek('a').remaining, subject.peek('b').remaining]).toEqual([0, 9]);
  });

  it.each([
    ['was reset', (limit: Limiter) => limit.reset('a')],
    ['is blocked', (limit: Limiter) => limit.block('a', '1h')],
  ])('refuses a newcomer beside a key that %s, and waits for nobody', (_, change) => {
    const store = sharedMemoryStore({ clock: new TestClock(), maxKeys: 2, cellsPerKey: 20 });
    const policy = slidingSlots({ limit: 3, window: '1h', slots: 4 });
    const one: Limiter = limiter(policy, { store, name: 'one' });
    change(one);
    one.check('b');
    const batch = ['one', 'two'].map((name) => ({ name, key: 'a', policy, cost: 1 }));
    expect(store.apply(batch)[1]).toMatchObject({ allowed: false, reason: 'store-full' });
    expect(store.stats()).toMatchObject({ keys: 2, brokenLocks: 0 });
  });

  it('takes whoever comes after an eviction for new', () => {
    const subject = limiter(gcra({ limit: 10, window: '1h' }), {
      store: sharedMemoryStore({ maxKeys: 2 }),
      name: 'bucket',
    });
    const remaining = Array.from({ length: 20 }, (_, i) => subject.check(`key-${i}`).remaining);
    expect(new Set(remaining)).toEqual(new Set([9]));
  });

  it('refuses a key whose state needs more room than there is, and charges nothing', () => {
    const store = sharedMemoryStore({ maxKeys: 10, cellsPerKey: 5 + 2 * 4 });
    const subject = limiter(slidingLog({ limit: 100, window: '1h' }), { store, name: 'log' });
    for (let i = 0; i < 4; i += 1) expect(subject.allow('k', { atMs: 1000 + i })).toBe(true);
    expect(subject.check('k', { atMs: 1004 })).toMatchObject({ allowed: false, reason: 'store-full' });
    expect(subject.peek('k', { atMs: 1003 }).remaining).toBe(95);
  });
});

describe('wrong use', () => {
  it.each([
    [{ maxKeys: 0 }, 'maxKeys must be a whole number above 0, got 0'],
    [{ maxKeys: 1.5 }, 'maxKeys must be a whole number above 0, got 1.5'],
    [{ cellsPerKey: Number.NaN }, 'cellsPerKey must be a whole number above 0, got NaN'],
    [{ cellsPerKey: 1e6 }, 'cellsPerKey must be at most 100000'],
    [{ lockPatienceMs: -1 }, 'lockPatienceMs must be a number above 0'],
    [{ buffer: new ArrayBuffer(8) }, 'buffer must be the buffer of another sharedMemoryStore()'],
    [{ buffer: new SharedArrayBuffer(1024) }, 'buffer must be the buffer of another sharedMemoryStore()'],
    [{ keys: 'exact' }, 'sharedMemoryStore options has no field "keys"'],
  ])('%o is refused', (options, message) => {
    expect(() => sharedMemoryStore(options as never)).toThrow(message);
  });

  it('a snapshot holds all that was used and blocked, and what is none is refused', () => {
    const clock = new TestClock(1_700_000_000_000);
    const store = sharedMemoryStore({ clock, maxKeys: 100 });
    const daily = fixedWindow({ limit: 3, window: '1d' });
    const limit = limiter(daily, { store, name: 'daily' });
    limit.check('ann', 2);
    limit.block('bob', '1h');
    const snapshot = store.snapshot();
    limit.check('ann', 1);
    const restored = limiter(daily, { store: sharedMemoryStore({ clock, snapshot }), name: 'daily' });
    expect(restored.check('ann')).toMatchObject({ allowed: true, remaining: 0 });
    expect(restored.check('ann')).toMatchObject({ allowed: false, reason: 'limit' });
    expect(restored.check('bob')).toMatchObject({ allowed: false, reason: 'blocked' });
    expect(restored.check('eve')).toMatchObject({ allowed: true });
    expect(() => sharedMemoryStore({ snapshot: snapshot.subarray(0, 4096) })).toThrow('snapshot');
    expect(() => sharedMemoryStore({ snapshot: new Uint8Array(800) })).toThrow('snapshot');
    expect(() => sharedMemoryStore({ snapshot, maxKeys: 5 })).toThrow('left out beside');
  });

  it('another precision of the clock is refused: what strict policies keep depends on it', () => {
    const clock = new TestClock(0);
    const late = { now: () => clock.now(), sleep: (ms: number) => clock.sleep(ms), stalenessMs: 50 };
    const store = sharedMemoryStore({ clock: late, maxKeys: 100 });
    const message = 'clock.stalenessMs must be 50, as where the buffer was made, got 0.';
    expect(() => sharedMemoryStore({ clock, buffer: store.buffer })).toThrow(message);
    expect(() => sharedMemoryStore({ clock, snapshot: store.snapshot() })).toThrow(message);
    expect(sharedMemoryStore({ clock: late, buffer: store.buffer }).stats().keys).toBe(0);
  });

  it('a snapshot goes on at the wall clock, whatever the machine counts its time from', () => {
    const before = sharedMemoryStore({ maxKeys: 100 });
    const after = sharedMemoryStore({ snapshot: before.snapshot() });
    expect(Math.abs(after.clock.now() - Date.now())).toBeLessThan(60_000);
  });

  // Each is looked for among all that came before it.
  it('has room for thousands of policies under one name', { timeout: 300_000 }, () => {
    const store = sharedMemoryStore({ clock: new TestClock(), maxKeys: 100 });
    for (let limit = 1; limit <= 2000; limit += 1) {
      expect(limiter(gcra({ limit, window: '1d' }), { store, name: 'many' }).check('ann', 0).allowed).toBe(true);
    }
  });

  it('maxKeys beside a buffer is refused', () => {
    const { buffer } = sharedMemoryStore({ maxKeys: 1 });
    expect(() => sharedMemoryStore({ buffer, maxKeys: 2 })).toThrow('left out beside a buffer');
  });

  it('a policy whose state has no room is refused when the limiter is made', () => {
    const store = sharedMemoryStore({ maxKeys: 10 });
    expect(() => limiter(slidingSlots({ limit: 1, window: '1m' }), { store })).toThrow(
      'cellsPerKey must be at least 64, got 4',
    );
    expect(() => limiter(concurrency({ limit: 1 }), { store })).toThrow('cellsPerKey must be at least 17, got 4');
  });

  it('a policy whose state has no room changes no limiter', () => {
    const limit = limiter(slidingSlots({ limit: 3, window: '1m', slots: 4 }), {
      store: sharedMemoryStore({ maxKeys: 10, cellsPerKey: 8 }),
    });
    limit.check('k');
    expect(() => limit.update(slidingSlots({ limit: 9, window: '1m' }))).toThrow('cellsPerKey must be at least 64');
    expect(limit.policy).toMatchObject({ limit: 3, slots: 4 });
    expect([limit.check('k').limit, limit.peek('k').limit, limit.check('newcomer').limit]).toEqual([3, 3, 3]);
  });

  it('a call that throws leaves its key as it was', () => {
    const store = sharedMemoryStore({ maxKeys: 10 });
    const subject = limiter(gcra({ limit: 2, window: '1h' }), { store });
    subject.check('k');
    expect(() => subject.check('k', -1)).toThrow('cost must be');
    expect(subject.peek('k').remaining).toBe(0);
    expect(store.stats().brokenLocks).toBe(0);
  });
});
