/** The playground as somebody plays with it; and its decisions beside those that Node makes of the same seed. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { type ConcurrencyPolicy, limiter, parsePolicy } from 'sluice';
import { readConfig } from 'sluice-server';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { type AlgorithmName, algorithmNames, algorithms } from '../playground/algorithms.ts';
import { decisionLines, type RunLine } from '../playground/decision-lines.ts';
import { engine, spanMsOf } from '../playground/engine.ts';
import { markOf } from '../playground/lane-geometry.ts';
import { reasonOf } from '../playground/reason.ts';
import { stateOf } from '../playground/settings.ts';
import { expectAccessible } from './accessible.test-support.ts';
import { type OpenOptions, useStudio } from './studio.test-support.ts';

const studio = useStudio();

async function openPlayground(query = '', options: OpenOptions = {}): Promise<Page> {
  const page = await studio.open(`#/playground${query}`, {
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  });
  await page.getByRole('timer').waitFor();
  return page;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const slider = (page: Page, name: string) => page.getByRole('slider', { name, exact: true });
const lane = (page: Page, name: AlgorithmName) => page.locator(`[data-lane=${name}]`);

/** In seconds, of `12.34 s` and `2:05.30`. */
async function timeOf(page: Page): Promise<number> {
  const text = (await page.getByRole('timer').textContent())!;
  return text.split(':').reduce((sum, part) => 60 * sum + Number.parseFloat(part), 0);
}

interface Counts {
  readonly allowed: number;
  readonly refused: number;
}

async function countsOf(page: Page): Promise<Record<string, Counts>> {
  const rows = await page.locator('[data-lane]').evaluateAll((lanes) =>
    lanes.map((one) => {
      const count = (name: string) => Number(one.querySelector(`dd.${name}`)?.textContent?.replace(/\D/g, ''));
      return [one.getAttribute('data-lane')!, { allowed: count('allowed'), refused: count('refused') }] as const;
    }),
  );
  return Object.fromEntries(rows);
}

async function totalsOf(page: Page): Promise<number[]> {
  return Object.values(await countsOf(page)).map(({ allowed, refused }) => allowed + refused);
}

/** Numbers are shown a few times a second. */
function numbersBecome(page: Page, expected: (totals: number[]) => boolean): Promise<void> {
  return expect.poll(async () => expected(await totalsOf(page)), { timeout: 30_000 }).toBe(true);
}

/** Long enough that whatever runs would have moved. */
async function someFrames(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let i = 0; i < 12; i++) await new Promise(requestAnimationFrame);
  });
}

async function savedDecisions(page: Page): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Save decisions').click()]);
  expect(download.suggestedFilename()).toBe('sluice-playground.jsonl');
  return readFileSync(await download.path(), 'utf8');
}

describe('time', () => {
  it('runs in all nine lanes, stops, goes on by steps, starts again and takes calls by hand', async () => {
    const page = await openPlayground('?speed=5', { reducedMotion: 'no-preference' });
    expect(await page.locator('[data-lane]').count()).toBe(9);
    const started = await timeOf(page);
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBeGreaterThan(started + 2);
    await numbersBecome(page, (totals) => totals.every((total) => total > 0 && total === totals[0]));

    await button(page, 'Pause').click();
    await button(page, 'Play').waitFor();
    await someFrames(page);
    const stopped = await timeOf(page);
    const before = await totalsOf(page);
    await someFrames(page);
    expect(await timeOf(page)).toBe(stopped);

    await button(page, 'Step').click();
    await numbersBecome(page, (totals) => totals.every((total, i) => total === before[i]! + 1));
    expect(await timeOf(page)).toBeGreaterThan(stopped);
    await button(page, 'Call now').click();
    await numbersBecome(page, (totals) => totals.every((total, i) => total === before[i]! + 2));

    await button(page, 'Restart').click();
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBe(0);
    await numbersBecome(page, (totals) => totals.every((total) => total === 0));
    await button(page, 'Play').click();
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBeGreaterThan(2);
  });

  it('stands still at first for those who want no motion', async () => {
    const page = await openPlayground();
    const at = await timeOf(page);
    expect(at).toBeGreaterThan(0);
    await someFrames(page);
    expect(await timeOf(page)).toBe(at);
    await button(page, 'Play').waitFor();
  });

  it('ends after an hour, says so, and the address of the end is read back', async () => {
    const page = await openPlayground('?at=3599950&speed=20&limit=5');
    await button(page, 'Play').click();
    await page.getByText('A run ends after 60 min; restart for another.').waitFor();
    expect(await button(page, 'Play').isDisabled()).toBe(true);
    expect(await button(page, 'Step').isDisabled()).toBe(true);
    expect(await timeOf(page)).toBe(3600);
    await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('at=3600000');
    await expectAccessible(page);
    const counts = await countsOf(page);
    await page.reload();
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBe(3600);
    await expect.poll(() => countsOf(page), { timeout: 30_000 }).toEqual(counts);
    await button(page, 'Restart').click();
    await button(page, 'Play').click();
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBeGreaterThan(2);
  });

  it('gets to the end of the busiest hour, whatever is done on the way', async () => {
    const page = await openPlayground('?limit=100&window=60s&burst=100&rate=20&at=3600000&shape=flash-crowd');
    await page.getByRole('checkbox', { name: 'Smooth' }).uncheck();
    await lane(page, 'smooth').waitFor({ state: 'detached' });
    await expect.poll(() => timeOf(page), { timeout: 60_000 }).toBe(3600);
    await numbersBecome(page, (totals) => totals.every((total) => total > 50_000 && total === totals[0]));
  });

  it('passes as fast as one likes', async () => {
    const page = await openPlayground();
    await slider(page, 'Speed').focus();
    await page.keyboard.press('End');
    expect(await slider(page, 'Speed').getAttribute('aria-valuetext')).toBe('20×');
    await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('speed=20');
    await page.reload();
    await page.getByRole('timer').waitFor();
    expect(await slider(page, 'Speed').getAttribute('aria-valuetext')).toBe('20×');
  });
});

describe('settings', () => {
  it('change the decisions at once', async () => {
    const page = await openPlayground('?limit=10&window=10s&at=60000&seed=3');
    const before = await countsOf(page);
    await slider(page, 'Limit').focus();
    await page.keyboard.press('Home');
    await expect
      .poll(async () => (await countsOf(page))['sliding-log']!.refused, { timeout: 30_000 })
      .toBeGreaterThan(before['sliding-log']!.refused);
    const strict = await countsOf(page);
    expect(strict['fixed-window']!.refused).toBeGreaterThan(before['fixed-window']!.refused);
    // It counts those in flight, whatever the limit is.
    expect(strict.concurrency).toEqual(before.concurrency);
    await page.getByText('Per algorithm').click();
    await slider(page, 'In flight (concurrency)').focus();
    await page.keyboard.press('Home');
    await expect
      .poll(async () => (await countsOf(page)).concurrency!.refused, { timeout: 30_000 })
      .toBeGreaterThan(before.concurrency!.refused);
    await page.getByRole('radio', { name: 'Steady' }).check();
    await slider(page, 'Calls per second, on average').focus();
    await page.keyboard.press('Home');
    // A call every ten seconds passes everywhere.
    await expect.poll(async () => (await countsOf(page))['token-bucket']!.refused, { timeout: 30_000 }).toBe(0);
  });

  it('have a seed that others can enter too', async () => {
    const page = await openPlayground('?at=60000&seed=3');
    const third = await countsOf(page);
    await button(page, 'Other traffic').click();
    await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).not.toBe('3');
    await page.getByLabel('Seed').fill('3');
    await expect.poll(() => countsOf(page), { timeout: 30_000 }).toEqual(third);
  });

  it('have a seed whose field says when it is none, and then shows the one that is used', async () => {
    const page = await openPlayground('?at=60000&seed=3');
    const third = await countsOf(page);
    const seed = page.getByLabel('Seed');
    for (const wrong of ['-5', '1.5', '1000000', '']) {
      await seed.fill(wrong);
      await page
        .getByRole('alert')
        .getByText('A seed is a whole number from 0 to 999999; the run still uses 3.')
        .waitFor();
      expect(await seed.inputValue()).toBe(wrong);
      await expectAccessible(page);
      await seed.blur();
      await expect.poll(() => seed.inputValue()).toBe('3');
      await page.getByRole('alert').waitFor({ state: 'detached' });
    }
    expect(await countsOf(page)).toEqual(third);
  });

  it('show and hide lanes, but never the last', async () => {
    const page = await openPlayground();
    for (const name of algorithmNames.slice(1))
      await page.getByRole('checkbox', { name: algorithms[name].title, exact: true }).uncheck();
    expect(Object.keys(await countsOf(page))).toEqual(['token-bucket']);
    expect(await page.getByRole('checkbox', { name: 'Token bucket' }).isDisabled()).toBe(true);
    await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('lanes=token-bucket');
    await page.getByRole('checkbox', { name: 'Concurrency' }).check();
    expect(Object.keys(await countsOf(page))).toEqual(['token-bucket', 'concurrency']);
  });
});

describe('a call', () => {
  const query = 'limit=5&window=10s&burst=3&shape=bursts&rate=2&seed=11&at=28000';

  it('that was refused says why when it is pointed at, in every lane', async () => {
    const page = await openPlayground(`?${query}`, { viewport: { width: 1280, height: 1200 } });
    const { settings, showing } = stateOf(new URLSearchParams(query));
    const run = engine(settings);
    run.step(showing.stoppedAtMs!);
    const card = page.locator('.call-card');
    for (const known of run.lanes) {
      const call = [...known.calls].filter(({ decision }) => !decision.allowed).at(-1)!;
      const { x, y, width, height } = (await lane(page, known.name).locator('canvas').boundingBox())!;
      const mark = markOf(
        {
          widthPx: width,
          heightPx: height,
          nowMs: run.nowMs,
          spanMs: spanMsOf(settings),
          capacity: known.capacity,
        },
        call,
      );
      await page.mouse.move(x + mark.x, y + mark.y);
      await lane(page, known.name).locator('.call-card').waitFor();
      expect(await card.locator('.call-card-title').allTextContents()).toEqual([`× refusedcall ${call.order + 1}`]);
      expect(await card.locator('p').nth(1).textContent(), known.name).toBe(reasonOf(call, settings));
    }
    await expectAccessible(page);
    await page.mouse.move(0, 0);
    await card.waitFor({ state: 'detached' });
  });

  it('is gone to with the keyboard, and read out', async () => {
    const page = await openPlayground(`?${query}`);
    await slider(page, 'Sliding log: calls').focus();
    const chosen = () => slider(page, 'Sliding log: calls').getAttribute('aria-valuetext');
    expect(await chosen()).toBe('no call chosen');
    await page.keyboard.press('PageUp');
    await expect.poll(chosen).toMatch(/^call \d+, refused, at /);
    const last = await chosen();
    expect(await page.getByRole('status', { name: 'Why' }).textContent()).toMatch(
      /^5 of 5 were used in the last 10 s; the oldest leaves in /,
    );
    await page.keyboard.press('ArrowLeft');
    await expect.poll(chosen).not.toBe(last);
    await page.keyboard.press('ArrowRight');
    await expect.poll(chosen).toBe(last);
    await page.keyboard.press('Home');
    await expect.poll(chosen).toMatch(/^call 1, allowed/);
    await page.keyboard.press('Escape');
    await expect.poll(chosen).toBe('no call chosen');
    // The lane in focus is the one whose code is shown.
    await page.getByRole('heading', { name: 'Sliding log in code' }).waitFor();

    const before = await totalsOf(page);
    await page.keyboard.press('s');
    await numbersBecome(page, (totals) => totals.every((total, i) => total === before[i]! + 1));
    await page.keyboard.press('c');
    await numbersBecome(page, (totals) => totals.every((total, i) => total === before[i]! + 2));
    await page.keyboard.press('Space');
    await button(page, 'Pause').waitFor();
    await page.keyboard.press('Space');
    await button(page, 'Play').waitFor();
  });
});

describe('what one sees', () => {
  it('is in the address, and the same after a reload and behind a copied link', async () => {
    const page = await openPlayground(
      '?limit=5&window=20s&shape=flash-crowd&seed=42&at=41000&lanes=gcra.sliding-log.smooth&lane=smooth',
    );
    await button(page, 'Call now').click();
    await button(page, 'Step').click();
    await slider(page, 'Burst').focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.url(), { timeout: 30_000 }).toMatch(/burst=6&.*at=\d+&calls=41000/);
    const shown = async (of: Page) => ({
      counts: await countsOf(of),
      at: await timeOf(of),
      code: await of.locator('pre').allTextContents(),
    });
    await someFrames(page);
    const before = await shown(page);
    expect(Object.keys(before.counts)).toEqual(['gcra', 'sliding-log', 'smooth']);
    await page.reload();
    await page.getByRole('timer').waitFor();
    await expect.poll(() => shown(page), { timeout: 30_000 }).toEqual(before);

    await button(page, 'Copy link').click();
    await button(page, 'Link copied').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await openPlayground(new URL(link).hash.replace('#/playground', ''));
    await expect.poll(() => shown(other), { timeout: 30_000 }).toEqual(before);
  });

  it('is still there after a look at another view', async () => {
    const page = await openPlayground('?limit=5&seed=42&at=41000');
    await slider(page, 'Burst').focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('burst=6');
    const before = page.url();
    await page.getByRole('link', { name: 'Tuner' }).click();
    await page.getByRole('timer').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('timer').waitFor();
    expect(page.url()).toBe(before);
    expect(await page.getByLabel('Seed').inputValue()).toBe('42');
    // From the view itself the link leads to its beginning.
    await page.getByRole('link', { name: 'Playground' }).click();
    await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).toBe('1');
  });

  describe('is not lost with a change that the address does not say yet', () => {
    const ways: [way: string, leave: (page: Page) => Promise<unknown>][] = [
      [
        'another view and its link back',
        async (page) => {
          await inOneTask(page, `link('Tuner').click()`);
          await page.getByRole('timer').waitFor({ state: 'detached' });
          expect(new URL(page.url()).hash).toBe('#/tuner');
          await page.getByRole('link', { name: 'Playground' }).click();
        },
      ],
      [
        'a step back and forth',
        async (page) => {
          await inOneTask(page, 'history.back()');
          await page.getByRole('timer').waitFor({ state: 'detached' });
          expect(new URL(page.url()).hash).toBe('#/tuner');
          await page.goForward();
        },
      ],
      [
        'another address of the playground and a step back',
        async (page) => {
          await inOneTask(page, `location.hash = '#/playground?seed=5'`);
          await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).toBe('5');
          await page.goBack();
        },
      ],
      [
        'a reload',
        async (page) => {
          await Promise.all([page.waitForEvent('load'), inOneTask(page, 'location.reload()')]);
        },
      ],
      [
        'another page and a step back',
        async (page) => {
          await Promise.all([page.waitForURL('**/healthz'), inOneTask(page, `location.href = '/healthz'`)]);
          await page.goBack();
        },
      ],
    ];

    /** A seed that is entered, and left at once: the timer of the address has no chance. */
    function inOneTask(page: Page, leave: string): Promise<unknown> {
      return page.evaluate(`
        const link = (name) => [...document.querySelectorAll('nav a')].find((one) => one.textContent === name);
        const seed = document.getElementById('playground-seed');
        seed.value = '77';
        seed.dispatchEvent(new Event('input', { bubbles: true }));
        // What is shown follows the events of a page, and so does this.
        setTimeout(() => { ${leave} });
      `);
    }

    test.each(ways)('by %s', async (_, leave) => {
      const page = await studio.open('#/tuner');
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.evaluate(`location.hash = '#/playground?limit=5&seed=42&at=41000'`);
      await page.getByRole('timer').waitFor();
      await leave(page);
      await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).toBe('77');
      expect(await slider(page, 'Limit').getAttribute('aria-valuetext')).toMatch(/^5\b/);
      await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('seed=77');
    });

    it('by a page that runs on for a while after it was left', async () => {
      const page = await openPlayground('?limit=5&seed=42&at=41000');
      await inOneTask(page, `dispatchEvent(new PageTransitionEvent('pagehide'))`);
      // Longer than the address waits.
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))');
      expect(page.url()).toContain('seed=42');
      await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow'))`);
      await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('seed=77');
    });

    it('and the change is brought back once: the same address entered anew is what it says', async () => {
      const page = await openPlayground('?limit=5&seed=42&at=41000');
      const address = page.url();
      await Promise.all([page.waitForEvent('load'), inOneTask(page, 'location.reload()')]);
      await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).toBe('77');
      await page.goto(address);
      await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).toBe('42');
    });
  });

  it('begins anew by its own link, also where it began without an address', async () => {
    const page = await openPlayground();
    await page.getByLabel('Seed').fill('42');
    await expect.poll(() => page.url(), { timeout: 30_000 }).toContain('seed=42');
    await page.getByRole('link', { name: 'Playground' }).click();
    await expect.poll(() => page.getByLabel('Seed').inputValue(), { timeout: 30_000 }).toBe('1');
  });

  it('has room on a narrow screen, late in a run too', async () => {
    const page = await openPlayground('?window=1s&rate=5&at=3600000', { viewport: { width: 320, height: 800 } });
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBe(3600);
    await numbersBecome(page, (totals) => totals.every((total) => total > 9999));
    const overlapping = await page.locator('[data-lane]').evaluateAll((lanes) =>
      lanes.filter((one) => {
        const name = one.querySelector('.lane-name')!.getBoundingClientRect();
        const numbers = one.querySelector('.lane-numbers')!.getBoundingClientRect();
        return name.right > numbers.left && name.bottom > numbers.top + 1;
      }),
    );
    expect(overlapping).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  });

  it('is code and a rule that the service takes, for every lane', async () => {
    const page = await openPlayground();
    for (const name of algorithmNames) {
      await button(page, algorithms[name].title).click();
      await page.getByRole('heading', { name: `${algorithms[name].title} in code` }).waitFor();
      const [code, yaml] = await page.locator('pre').allTextContents();
      expect(code).toContain(`limiter(${algorithms[name].factoryName}({ `);
      const read = readConfig({ text: yaml! });
      expect('config' in read && read.config.rules).toMatchObject([{ policy: { algorithm: name } }]);
    }
    await button(page, 'Copy: YAML').click();
    await button(page, 'Copied: YAML').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('algorithm: concurrency');
  });
});

interface Saved {
  readonly run: RunLine;
  readonly decisions: readonly {
    readonly lane: AlgorithmName;
    readonly atMs: number;
    readonly cost: number;
    readonly allowed: boolean;
  }[];
}

function parsed(text: string): Saved {
  const [run, ...decisions] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { run, decisions } as Saved;
}

/** The plainest use of the library: a limiter of the rule that the page shows, and a loop. */
function plainLoop(yaml: string, calls: Saved['decisions'], holdMs: number): object[] {
  const { name: _, key: __, ...rule } = parse(yaml).rules[0];
  const policy = parsePolicy(rule);
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error('Nothing sleeps here.')) };
  if (policy.algorithm !== 'concurrency') {
    const limit = limiter(policy, { clock });
    return calls.map(({ atMs, cost }) => limit.check('somebody', { atMs, cost }));
  }
  const limit = limiter(policy as ConcurrencyPolicy, { clock });
  const ends: { endMs: number; end: () => void }[] = [];
  return calls.map(({ atMs, cost }) => {
    while (ends.length > 0 && ends[0]!.endMs <= atMs) ends.shift()!.end();
    const lease = limit.acquire('somebody', { atMs, cost });
    const endMs = atMs + holdMs;
    if (lease.allowed) ends.push({ endMs, end: () => lease.release({ atMs: endMs }) });
    return lease.decision;
  });
}

const queries = [
  'seed=1&at=60000',
  'limit=20&window=5s&burst=10&shape=boundary&rate=8&seed=2&at=61000&calls=5000_5000_5001_9999',
  'limit=3&window=7s&burst=1&shape=random&rate=1.3&seed=999999&slots=7&at=90000',
  'limit=100&window=10s&burst=50&shape=flash-crowd&rate=20&seed=31337&inFlight=10&hold=700ms&maxDelay=500ms&at=60000',
];

describe('the decisions of the page', () => {
  test.each(queries)('for %s are those of Node, by the engine and by a plain loop', async (query) => {
    const page = await openPlayground(`?${query}`);
    const text = await savedDecisions(page);
    const { settings, showing } = stateOf(new URLSearchParams(query));
    const run = engine(settings, showing.handCallsMs);
    run.step(showing.stoppedAtMs!);
    expect(text).toBe(decisionLines(run));

    const { decisions, run: head } = parsed(text);
    expect(head).toMatchObject({ untilMs: showing.stoppedAtMs, forgotten: 0 });
    for (const name of algorithmNames) {
      await button(page, algorithms[name].title).click();
      await page.getByRole('heading', { name: `${algorithms[name].title} in code` }).waitFor();
      const yaml = await page.locator('pre').last().textContent();
      const calls = decisions.filter((one) => one.lane === name);
      expect(calls.length).toBeGreaterThan(50);
      // As on the wire: JSON has no Infinity.
      const expected = JSON.parse(JSON.stringify(plainLoop(yaml!, calls, settings.holdMs)));
      const fields = ['allowed', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'delayMs'] as const;
      const only = (one: object) => fields.map((field) => (one as Record<string, unknown>)[field]);
      expect(calls.map(only), name).toEqual(expected.map(only));
    }
    expect(decisions.some(({ allowed }) => !allowed)).toBe(true);
  });

  it('are the same when the page got there frame by frame, with calls by hand', async () => {
    const page = await openPlayground('?speed=10&seed=5', { reducedMotion: 'no-preference' });
    const started = await timeOf(page);
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBeGreaterThan(started + 5);
    await button(page, 'Call now').click();
    await button(page, 'Call now').click();
    await expect.poll(() => timeOf(page), { timeout: 30_000 }).toBeGreaterThan(started + 20);
    await button(page, 'Pause').click();
    await button(page, 'Play').waitFor();
    const text = await savedDecisions(page);
    const {
      run: { settings, handCallsMs, untilMs },
    } = parsed(text);
    expect(handCallsMs).toHaveLength(2);
    const run = engine(settings, handCallsMs);
    run.step(untilMs);
    expect(text).toBe(decisionLines(run));
  });
});
