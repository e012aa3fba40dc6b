import { getEventListeners } from 'node:events';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import { configOf, Trial, turn } from './admission.test-support.ts';
import { openAdmission } from './admission.ts';

describe('a free place', () => {
  it('is had at once, without a promise, and without asking whether the client is still there', () => {
    const admission = openAdmission(configOf(), new TestClock());
    const request = {
      tenant: '',
      priority: 5,
      get signal(): AbortSignal {
        throw new Error('It does not have to wait.');
      },
    };
    expect(admission.enter(request)).toMatchObject({ isAdmitted: true, waitedMs: 0 });
    expect(admission.stats()).toMatchObject({ limit: 1, inFlight: 1, waiting: 0, admitted: 1 });
  });

  it('is there again after the first of the endings, and only once', async () => {
    const trial = new Trial({ concurrency: 2 });
    await trial.askAll('1a5 2a5 3a5 4a5');
    const first = trial.inFlight[0]!;
    first.ignored();
    first.ok();
    first.failed();
    await turn();
    expect(trial.told).toEqual(['1', '2', '3']);
    expect(trial.admission.stats()).toMatchObject({ inFlight: 2, waiting: 1, admitted: 3 });
  });
});

describe('who has the next place', () => {
  // Concurrency 1. The first has the place at once; each takes 10 ms.
  it.each([
    // what is configured         who comes                              who goes then
    [{}, '0x5 1a5 2a5 3a5', '1 2 3'],
    [{}, '0x5 1a9 2a0 3a5 4a0', '2 4 3 1'], //           lower first, first come among equals
    [{}, '0x5 1a5 2a5 3a5 4b5 5c5', '1 4 5 2 3'], //      one of each, however many one has
    [{}, '0x5 1a5 2a5 3b9 4b0', '4 1 2 3'], //            priority before fairness
    [{ weights: { a: 3 } }, '0x5 1a5 2a5 3a5 4a5 5b5 6b5', '1 5 2 3 6 4'], // three of a for one of b, in the long run
    [{ weights: { a: 0.000_01, b: 0.01 } }, '0x5 1a5 2a5 3b5 4b5', '1 3 2 4'], // less than the least is the least
  ])('%j: of %s it is %s', async (config, requests, order) => {
    const trial = new Trial(config);
    await trial.askAll(requests);
    expect(await trial.order()).toBe(order);
  });

  it('charges what a request took, not how many there were', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2a5 3b5 4b5 5b5 6b5');
    const tookMs: Record<string, number> = { '1': 30, '2': 30 };
    const order: string[] = [];
    while (trial.inFlight.length > 0) {
      await trial.end(tookMs[trial.told.at(-1)!] ?? 10);
      order.push(trial.told.at(-1)!);
    }
    expect(order.slice(0, 6).join(' ')).toBe('1 3 4 5 2 6');
  });

  it('gives nobody a burst before it is charged', async () => {
    const trial = new Trial({ concurrency: 6, weights: { a: 2 } });
    await trial.askAll('100x5 101x5 102x5 103x5 104x5 105x5');
    await trial.askAll('1a5 2a5 3a5 4a5 5a5 6a5 11b5 12b5 13b5 14b5 15b5 16b5');
    for (let i = 0; i < 6; i += 1) await trial.end();
    expect(trial.told.slice(6).filter((name) => Number(name) > 10)).toHaveLength(2);
  });

  it('charges whoever found a free place for the time in which others wait', async () => {
    const trial = new Trial({ concurrency: 2 });
    await trial.askAll('1a5 2x5');
    await trial.pass(1000); // nobody wanted it: it costs nothing
    await trial.askAll('3a5 4a5 11b5 12b5 13b5 14b5 15b5 16b5 17b5 18b5 19b5');
    await trial.end(50); // a has had 50 ms of what b wanted as well
    await trial.end(0);
    expect(trial.told.slice(2)).toEqual(['11', '12']);
    expect(await trial.order()).toBe('13 14 3 4 15 16 17 18 19');
  });

  it('does not let a tenant go and come back to be rid of what it owes', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2b5 3b5 4b5 5b5');
    await trial.end();
    expect(trial.told.at(-1)).toBe('1');
    await trial.end(35); // a has nothing left here
    await trial.ask('6a5');
    expect(await trial.order()).toBe('3 4 5 6');
  });

  it('gives no credit for having been away', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2b5 3b5 4b5 5b5 6b5');
    for (let i = 0; i < 4; i += 1) await trial.end(10);
    await trial.askAll('7a5 8a5 9a5');
    expect(await trial.order()).toBe('7 5 8 6 9');
  });
});

describe('ageing', () => {
  // 1 comes at 0 with priority 9, 2 with priority 0 later: after each 100 ms the first counts as one priority better.
  it.each([
    // ageing   2 comes at   who goes
    [100, 899, '2 1'],
    [100, 900, '2 1'], //  equals: who has the better priority
    [100, 901, '1 2'],
    [0, 1e5, '2 1'], //    never
  ])('of %i ms, and the second comes at %i ms: %s', async (ageingMs, atMs, order) => {
    const trial = new Trial({ ageingMs });
    await trial.askAll('0x5 1a9');
    await trial.pass(atMs);
    await trial.ask('2a0');
    expect(await trial.order()).toBe(order);
  });

  it('leaves tenants of one priority their shares, however long they wait', async () => {
    const trial = new Trial({ ageingMs: 1 });
    await trial.askAll('0x5 1a5 2a5 3a5 4a5');
    await trial.pass(5000);
    await trial.askAll('5b5 6b5');
    expect(await trial.order(1)).toBe('1 5 2 6 3 4');
  });

  it('takes nothing of its share from who has its turns, however long it waits', async () => {
    const trial = new Trial({ ageingMs: 5, queue: 1000, weights: { a: 30 } });
    await trial.ask('0x5');
    for (let i = 1; i <= 400; i += 1) await trial.ask(`${i}a5`);
    for (let i = 1001; i <= 1040; i += 1) await trial.ask(`${i}b5`);
    const order = (await trial.order(1)).split(' ').slice(0, 310);
    expect(order.filter((name) => Number(name) > 1000)).toHaveLength(10);
  });

  it.each([
    // Endless newcomers under new names begin at the least that anybody was charged, and a has had something.
    [10, true],
    [0, false],
  ])('of %i ms: whether a tenant that owes gets its turn among endless newcomers: %s', async (ageingMs, isServed) => {
    const trial = new Trial({ ageingMs });
    await trial.askAll('0x5 1a5 2b5 3b5');
    await trial.end(10);
    await trial.end(500); // a was charged that
    await trial.ask('4a5');
    for (let i = 0; i < 300; i += 1) {
      const name = [...String(i)].map((digit) => 'cdefghijkl'[Number(digit)]).join('');
      await trial.ask(`${100 + i}${name}5`);
      await trial.end(1);
    }
    expect(trial.answers.get('4')?.isAdmitted ?? false).toBe(isServed);
  });
});

describe('the bound', () => {
  // Concurrency 1, two may wait.
  it.each([
    // what is configured          who comes                 what is said
    [{}, '0x5 1a5 2a5 3a5', '3 full'], //              one's own newest
    [{}, '0x5 1a5 2a5 3b5', '2 shed'], //              the newest of whoever has most
    [{}, '0x5 1a5 2b5 3c5', '3 full'], //              among equals, whoever comes
    [{}, '0x5 1a5 2a9 3a5', '2 shed'], //              the worst priority
    [{}, '0x5 1b9 2a5 3a5', '1 shed'], //              also where it is another's only one
    [{}, '0x5 1a5 2b5 3c6', '3 full'], //              and where it is the newcomer's own
    [{ weights: { a: 3 } }, '0x5 1a5 2a5 3b5', '3 full'], //    b's one is more, for its weight, than a's two
    [{ weights: { a: 3 } }, '0x5 1b5 2b5 3a5', '2 shed'],
    [{ queue: 0 }, '0x5 1a0', '1 full'],
  ])('%j: %s: %s', async (config, requests, expected) => {
    const trial = new Trial({ queue: 2, ...config });
    await trial.askAll(requests);
    expect(trial.told.slice(1)).toEqual([expected]);
  });

  it.each([
    // 1 waits since 0 with priority 9; then 2 comes with priority 0. Ageing 100 ms.
    [900, '2 full'], // they count as equals: whoever comes
    [899, '1 shed'],
  ])('counts who has waited for %i ms by what it has become: %s', async (atMs, expected) => {
    const trial = new Trial({ queue: 1, ageingMs: 100 });
    await trial.askAll('0x5 1a9');
    await trial.pass(atMs);
    await trial.ask('2a0');
    expect(trial.told.slice(1)).toEqual([expected]);
  });

  it('is not pushed at by a tenant that floods: it pushes out itself', async () => {
    const trial = new Trial({ queue: 10 });
    await trial.askAll('0x5 1b5 2b5 3b5');
    for (let i = 100; i < 300; i += 1) await trial.ask(`${i}a5`);
    await trial.askAll('4b5 5b5');
    expect(trial.told.filter((text) => /^[1-5] /.test(text))).toEqual([]);
    const order = (await trial.order()).split(' ');
    expect(order.filter((name) => Number(name) < 100)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('is counted by reason', async () => {
    const trial = new Trial({ queue: 1 });
    await trial.askAll('0x5 1a5 2a5 3a0');
    expect(trial.admission.stats()).toMatchObject({
      waiting: 1,
      admitted: 1,
      refused: { full: 1, shed: 1, 'waited-too-long': 0, closed: 0, gone: 0 },
    });
  });
});

describe('when to come back', () => {
  it('is when those who wait will have had their places, as fast as places become free', async () => {
    const trial = new Trial({ queue: 5 });
    await trial.ask('0x5');
    for (let i = 100; i < 106; i += 1) await trial.ask(`${i}a5`);
    for (let i = 200; i < 210; i += 1) {
      await trial.end(2000);
      await trial.ask(`${i}a5`);
    }
    await trial.ask('300a5');
    expect(trial.answers.get('300')).toEqual({ isAdmitted: false, reason: 'full', retryAfterMs: 12_000 });
    // None became free for three seconds more than usual.
    await trial.pass(5000);
    await trial.ask('301a5');
    expect(trial.answers.get('301')).toMatchObject({ retryAfterMs: 15_000 });
  });

  it.each([
    // one place becomes free every   so many wait   after
    [1, 3, 1000], //                 never less than a second
    [50_000, 3, 60_000], //          nor more than a minute
  ])('%i ms each, %i wait: %i', async (eachMs, queue, retryAfterMs) => {
    const trial = new Trial({ queue });
    await trial.ask('0x5');
    for (let i = 100; i < 110; i += 1) await trial.ask(`${i}a5`);
    await trial.end(eachMs);
    await trial.askAll('200a5 201a5');
    expect(trial.answers.get('201')).toMatchObject({ reason: 'full', retryAfterMs });
  });
});

describe('waiting', () => {
  it('says how long it was', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5');
    await trial.end(70);
    expect(trial.answers.get('1')).toMatchObject({ isAdmitted: true, waitedMs: 70 });
  });

  it('ends for each when its time is up', async () => {
    const trial = new Trial({ queueTimeoutMs: 100 });
    await trial.askAll('0x5 1a5');
    await trial.pass(60);
    await trial.ask('2a0');
    await trial.pass(39);
    expect(trial.told).toEqual(['0']);
    await trial.pass(1);
    expect(trial.told).toEqual(['0', '1 waited-too-long']);
    await trial.pass(60);
    expect(trial.told.at(-1)).toBe('2 waited-too-long');
    expect(trial.admission.stats()).toMatchObject({ inFlight: 1, waiting: 0 });
  });

  it('is over also where a place becomes free at that very moment', async () => {
    const trial = new Trial({ queueTimeoutMs: 100 });
    await trial.askAll('0x5 1a5');
    trial.clock.advance(100);
    trial.inFlight[0]!.ok();
    await turn();
    expect(trial.told).toEqual(['0', '1 waited-too-long']);
  });

  it('ends also where the clock was set back meanwhile', async () => {
    const trial = new Trial({ queueTimeoutMs: 100 });
    await trial.pass(1000);
    await trial.askAll('0x5 1a5');
    trial.clock.set(500);
    await trial.ask('2a5');
    await trial.pass(600);
    expect(trial.told).toEqual(['0', '1 waited-too-long', '2 waited-too-long']);
  });

  it('ends also where the clock stands still while the time passes', async () => {
    let wake = () => {};
    const clock = {
      now: () => 7,
      sleep: () =>
        new Promise<void>((resolve) => {
          wake = resolve;
        }),
    };
    const admission = openAdmission(configOf({ queueTimeoutMs: 100 }), clock);
    admission.enter({ tenant: 'a', priority: 5 });
    const waiting = admission.enter({ tenant: 'a', priority: 5 });
    wake();
    expect(await waiting).toMatchObject({ isAdmitted: false, reason: 'waited-too-long' });
  });

  it('ends at once for a client that leaves, and its place in line is free', async () => {
    const trial = new Trial({ queue: 2 });
    await trial.askAll('0x5 1a5 2a5');
    await trial.leave('1');
    expect(trial.told.at(-1)).toBe('1 gone');
    await trial.ask('3a5');
    expect(await trial.order()).toBe('2 3');
    await trial.leave('3');
    expect(trial.told.at(-1)).toBe('3');
  });

  it('does not begin for a client that has left, and nobody is shed for it', async () => {
    const { admission } = new Trial({ queue: 1 });
    void admission.enter({ tenant: 'a', priority: 5 });
    void admission.enter({ tenant: 'a', priority: 9 });
    const answer = admission.enter({ tenant: 'b', priority: 0, signal: AbortSignal.abort() });
    expect(answer).toMatchObject({ isAdmitted: false, reason: 'gone' });
    expect(admission.stats()).toMatchObject({ waiting: 1, refused: { gone: 1, shed: 0 } });
  });

  it('leaves nothing on the signal of who has its place', async () => {
    const trial = new Trial();
    await trial.ask('0x5');
    const left = new AbortController();
    const waiting = trial.admission.enter({ tenant: 'a', priority: 5, signal: left.signal });
    await trial.end();
    expect(await waiting).toMatchObject({ isAdmitted: true });
    expect(getEventListeners(left.signal, 'abort')).toEqual([]);
  });
});

describe('reconfigure', () => {
  it('lets more in at once, and fewer as they end', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2a5 3a5 4a5');
    trial.admission.reconfigure(configOf({ concurrency: 3 }));
    await turn();
    expect(trial.told).toEqual(['0', '1', '2']);
    trial.admission.reconfigure(configOf({ concurrency: 1 }));
    await trial.end();
    await trial.end();
    expect(trial.told).toHaveLength(3);
    await trial.end();
    expect(trial.told.at(-1)).toBe('3');
  });

  it('gives those who wait their new shares', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2a5 3a5 4b5 5b5 6b5');
    trial.admission.reconfigure(configOf({ weights: { a: 9 } }));
    expect(await trial.order()).toBe('4 1 2 3 5 6');
  });

  it('gives up whoever has most by the new shares', async () => {
    const trial = new Trial({ queue: 5 });
    await trial.askAll('0x5 1a5 2a5 3a5 4b5 5b5');
    trial.admission.reconfigure(configOf({ queue: 5, weights: { a: 9 } }));
    await trial.ask('6c5');
    expect(trial.told.at(-1)).toBe('5 shed');
  });

  it('drops nobody where fewer may wait: newcomers find it full until enough have left', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2a5 3a5');
    trial.admission.reconfigure(configOf({ queue: 1 }));
    await trial.askAll('4a5 5a0');
    expect(trial.told).toEqual(['0', '4 full', '3 shed']);
    expect(await trial.order()).toBe('5 1 2');
  });

  it.each([
    // from   to   who waits since 0 is refused at
    [1000, 50, 50],
    [50, 1000, 1000],
  ])('counts the time from %i to %i ms from when they came', async (fromMs, toMs, atMs) => {
    const trial = new Trial({ queueTimeoutMs: fromMs });
    await trial.askAll('0x5 1a5');
    await trial.pass(20);
    trial.admission.reconfigure(configOf({ queueTimeoutMs: toMs }));
    await trial.pass(atMs - 21);
    expect(trial.told).toEqual(['0']);
    await trial.pass(1);
    expect(trial.told).toEqual(['0', '1 waited-too-long']);
  });

  it('orders by the new ageing at once', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a9');
    await trial.pass(1000);
    await trial.ask('2a0');
    trial.admission.reconfigure(configOf({ ageingMs: 100 }));
    expect(await trial.order()).toBe('1 2');
  });

  it('goes on from the limit there is, and keeps what was measured where nothing about it changes', async () => {
    const adaptive = { algorithm: 'aimd', min: 2, max: 50 } as const;
    const trial = new Trial({ concurrency: 8 });
    trial.admission.reconfigure(configOf({ concurrency: adaptive }));
    expect(trial.admission.stats().limit).toBe(8);
    for (let i = 0; i < 40; i += 1) {
      await trial.ask(`${i}a5`);
      await trial.end(20, 'failed');
    }
    const { limit } = trial.admission.stats();
    expect(limit).toBeLessThan(8);
    trial.admission.reconfigure(configOf({ concurrency: { ...adaptive }, queue: 7 }));
    expect(trial.admission.stats().limit).toBe(limit);
    trial.admission.reconfigure(configOf({ concurrency: { ...adaptive, min: 20 } }));
    expect(trial.admission.stats().limit).toBe(20);
  });
});

describe('close', () => {
  it('refuses whoever waits and whoever comes, and lets what is under way end', async () => {
    const trial = new Trial();
    await trial.askAll('0x5 1a5 2b0');
    trial.admission.close();
    await turn();
    await trial.ask('3a5');
    expect(trial.told).toEqual(['0', '1 closed', '2 closed', '3 closed']);
    await trial.end();
    await trial.ask('4a5');
    expect(trial.told.at(-1)).toBe('4 closed');
    expect(trial.admission.stats()).toMatchObject({ limit: 0, inFlight: 0, waiting: 0, refused: { closed: 4 } });
    expect(trial.clock.sleeping).toBe(0);
  });

  it('stays closed whatever is configured', async () => {
    const trial = new Trial();
    trial.admission.close();
    trial.admission.reconfigure(configOf({ concurrency: 5 }));
    await trial.ask('1a5');
    expect(trial.told).toEqual(['1 closed']);
  });
});
