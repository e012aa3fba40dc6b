/** The tuner as somebody uses it who has a log: takes it in, tries limits on it, takes a rule away. */

import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { readConfig } from 'sluice-server';
import { afterAll, describe, expect, it } from 'vitest';
import { logFolder, loggedCalls, longLog, scraper, textOf } from './log-files.test-support.ts';
import { useStudio } from './studio.test-support.ts';

const studio = useStudio();
const logs = logFolder();
afterAll(() => logs.remove());

const calls = loggedCalls();
const combined = textOf.combined(calls);

async function openTuner(query = ''): Promise<Page> {
  const page = await studio.open(`#/tuner${query}`, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByText('Drop an access log here').waitFor();
  return page;
}

async function choose(page: Page, ...paths: string[]): Promise<void> {
  await page.getByLabel('Choose files').setInputFiles(paths);
}

/** Files let go above the page, as the system's own file manager does it. */
async function drop(page: Page, ...paths: string[]): Promise<void> {
  const { x, y, width, height } = (await page.getByRole('region', { name: 'Drop an access log here' }).boundingBox())!;
  await dropAt(page, x + width / 2, y + height / 2, ...paths);
}

async function dropAt(page: Page, x: number, y: number, ...paths: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await session.send('Input.dispatchDragEvent', { type, x, y, data });
  }
}

function factsOf(page: Page, name: string): Promise<string | null> {
  return page.getByRole('region', { name }).locator('p', { hasText: ' calls of ' }).textContent();
}

/** Of the rule that is chosen: waits while those of the one before stand there. */
function figure(page: Page, name: string): Promise<string | null> {
  return page.locator('.figures[aria-busy=false] div', { hasText: name }).locator('dd').textContent();
}

const limitSlider = (page: Page) => page.getByRole('slider', { name: 'Limit' });
const limitWords = (page: Page) => limitSlider(page).getAttribute('aria-valuetext');

/** Waits until what is said has changed, and says it. */
async function changed(read: () => Promise<string | null>, before: string | null): Promise<string> {
  await expect.poll(read, { timeout: 30_000 }).not.toBe(before);
  return (await read())!;
}

async function readExample(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Try an example' }).click();
  await page.getByText('calls refused', { exact: true }).waitFor();
}

describe('a log', () => {
  it('is read in every format, packed or not, in one file or in two', async () => {
    const page = await openTuner();
    const half = Math.floor(calls.length / 2);
    const rows: [format: string, files: [name: string, content: string | Buffer][]][] = [
      ['combined', [['access.log', combined]]],
      ['json', [['access.jsonl', textOf.json(calls)]]],
      ['csv', [['access.csv', textOf.csv(calls)]]],
      ['combined', [['access.log.gz', gzipSync(combined)]]],
      [
        'combined',
        [
          // Without the end of its last line: that line is not the beginning of the next file.
          ['access.log.2.gz', gzipSync(textOf.combined(calls.slice(0, half)).trimEnd())],
          ['access.log.1', textOf.combined(calls.slice(half))],
        ],
      ],
    ];
    for (const [format, files] of rows) {
      await choose(page, ...files.map(([name, content]) => logs.write(name, content)));
      const facts = await factsOf(page, files.map(([name]) => name).join(', '));
      expect(facts).toBe(
        `500 calls of 41 clients in 9m57s, from 2026-03-01 10:00:00 UTC; ${format} format, counted by ip${
          format === 'combined' ? '; times are known to a second' : ''
        }.`,
      );
      await page.getByRole('button', { name: 'Another log' }).click();
    }
  });

  it('can be dropped, and shows at once who stands out', async () => {
    const page = await openTuner();
    await drop(page, logs.write('dropped.log', combined));
    expect(await factsOf(page, 'dropped.log')).toContain('500 calls of 41 clients');
    const standOut = page.getByRole('region', { name: 'Clients that stand out' });
    expect(await standOut.locator('tbody td').first().textContent()).toBe(scraper);
  });

  it('can be dropped beside the place for it, also where another one is shown', async () => {
    const page = await openTuner();
    await drop(page, logs.write('first.log', combined));
    await factsOf(page, 'first.log');
    await dropAt(page, 200, 10, logs.write('second.log', combined));
    expect(await factsOf(page, 'second.log')).toContain('500 calls of 41 clients');
  });

  it('has advice of its own, whatever another one was given', async () => {
    const page = await openTuner('?key=user%2Broute');
    await readExample(page);
    expect(await page.locator('pre').last().textContent()).toContain('key: ip');
    expect(page.url()).not.toContain('limit=');
    await page.reload();
    await choose(page, logs.write('own.log', combined));
    await page.getByRole('button', { name: 'In use' }).waitFor();
  });

  it('with broken lines shows how many, and the first of them', async () => {
    const page = await openTuner();
    const broken = `${textOf.combined(calls.slice(0, 50))}what is this\n198.51.100.7 - - [32/Mar/2026:25:00:00 +0000] "GET / HTTP/1.1" 200 1\n${textOf.combined(calls.slice(50))}`;
    await choose(page, logs.write('broken.log', broken));
    await page.getByText('2 lines could not be read').click();
    const listed = page.locator('.malformed li');
    await listed.first().waitFor();
    const [first, second] = await listed.allTextContents();
    expect(first).toMatch(/^Line 51 .+: what is this$/);
    expect(second).toMatch(/^Line 52 .*time.*32\/Mar/);
  });

  it('of another key is counted by that key, and is said to lack one that it has not', async () => {
    const page = await openTuner();
    await page.getByLabel('Counted by').fill('user');
    await choose(page, logs.write('users.csv', textOf.csv(calls)));
    expect(await factsOf(page, 'users.csv')).toContain('counted by user');
    expect(await page.locator('pre').last().textContent()).toContain('key: user');
    await page.getByRole('button', { name: 'Another log' }).click();
    await page.getByLabel('Counted by').fill('tenant');
    await choose(page, logs.write('tenants.csv', textOf.csv(calls)));
    expect(await page.getByRole('alert').textContent()).toMatch(/^tenants\.csv could not be read\. .*tenant/);
    // What was wrong can be put right at once.
    await page.getByLabel('Counted by').fill('ip');
    await choose(page, logs.write('tenants.csv', textOf.csv(calls)));
    expect(await factsOf(page, 'tenants.csv')).toContain('counted by ip');
  });

  it('that is none is refused with a sentence', async () => {
    const page = await openTuner();
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251));
    const zipped = gzipSync(combined);
    const rows: [name: string, content: string | Buffer, sentence: RegExp][] = [
      ['noise.bin', bytes, /format/],
      ['empty.log', '', /There is not one call in this file\./],
      ['blank.log', '\n\n\n', /There is not one call in this file\./],
      ['cut.log.gz', zipped.subarray(0, zipped.length / 2), /broken, cut off, or made of several parts/],
      ['parts.log.gz', Buffer.concat([zipped, zipped]), /made of several parts, which browsers cannot unpack/],
      ['packed.zip', Buffer.from([0x50, 0x4b, 3, 4, 0, 0]), /packed in another way than gzip\. Unpack it first\./],
    ];
    for (const [name, content, sentence] of rows) {
      await choose(page, logs.write(name, content));
      const alert = page.getByRole('alert').filter({ hasText: name });
      expect(await alert.textContent()).toMatch(sentence);
    }
  });

  it('that takes too long can be cancelled, and another one be read', async () => {
    const page = await openTuner();
    await choose(page, logs.write('long.log.gz', longLog()));
    await page.getByRole('progressbar', { name: 'Read so far' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Drop an access log here').waitFor();
    await choose(page, logs.write('short.log', combined));
    expect(await factsOf(page, 'short.log')).toContain('500 calls');
  });

  it('never leaves the page: nothing but its own scripts is asked for, and without a network it is read all the same', async () => {
    const page = await openTuner();
    const asked: string[] = [];
    page.context().on('request', (request) => {
      const { pathname } = new URL(request.url());
      asked.push(`${request.method()} ${pathname} ${request.postData() ?? ''}`);
    });
    await choose(page, logs.write('secret.log', combined));
    expect(await factsOf(page, 'secret.log')).toContain('500 calls');
    expect(asked.filter((one) => !/^GET \/(assets\/[\w-]+\.js|icon\.svg) $/.test(one))).toEqual([]);
    await page.getByRole('button', { name: 'Another log' }).click();
    await page.context().setOffline(true);
    await choose(page, logs.write('more-secret.log', combined));
    expect(await factsOf(page, 'more-secret.log')).toContain('500 calls');
  });
});

describe('a limit', () => {
  it('is dragged with the mouse, and who is refused follows', async () => {
    const page = await openTuner();
    await readExample(page);
    const limitBefore = await limitWords(page);
    const refusedBefore = await figure(page, 'calls refused');
    const grip = page.locator('.limit-grip');
    const from = (await grip.boundingBox())!;
    const chart = (await page.locator('.peaks-box').boundingBox())!;
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width / 3, chart.y + 50, { steps: 5 });
    const refused = await changed(() => figure(page, 'calls refused'), refusedBefore);
    await page.mouse.up();
    const limit = await limitWords(page);
    expect(limit).not.toBe(limitBefore);
    expect(Number.parseFloat(refused)).toBeGreaterThan(Number.parseFloat(refusedBefore!));
    expect(await page.locator('.limit-text').textContent()).toBe(`limit ${limit!.split(' ')[0]}`);
    // Only while the button is down.
    await page.mouse.move(chart.x + chart.width / 2, chart.y + 50);
    expect(await limitWords(page)).toBe(limit);
    expect(page.url()).toContain(`limit=${limit!.split(' ')[0]}`);
    expect(await page.locator('pre').last().textContent()).toContain(`limit: ${limit!.split(' ')[0]}\n`);
  });

  it('is set with the keyboard, with another algorithm and another window', async () => {
    const page = await openTuner();
    await readExample(page);
    await page.getByRole('radio', { name: 'a minute' }).check();
    await expect.poll(() => limitWords(page)).toMatch(/ a minute$/);
    await limitSlider(page).focus();
    const before = await figure(page, 'calls refused');
    await page.keyboard.press('Home');
    expect(await limitWords(page)).toBe('1 a minute');
    const strict = await changed(() => figure(page, 'calls refused'), before);
    expect(Number.parseFloat(strict)).toBeGreaterThan(Number.parseFloat(before!));
    await page.keyboard.press('ArrowRight');
    expect(await limitWords(page)).toBe('2 a minute');
    const milder = await changed(() => figure(page, 'calls refused'), strict);
    expect(Number.parseFloat(milder)).toBeLessThan(Number.parseFloat(strict));

    const algorithm = page.getByRole('group', { name: 'Algorithm' });
    await algorithm.getByRole('radio', { name: 'gcra' }).focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
    expect(await algorithm.getByRole('radio', { name: 'fixed-window' }).isChecked()).toBe(true);
    expect(await page.getByRole('slider', { name: 'Burst' }).count()).toBe(0);
    await page.getByRole('radio', { name: 'a second' }).check();
    expect(await limitWords(page)).toBe('2 a second');
    const bySecond = await changed(() => figure(page, 'calls refused'), milder);
    expect(Number.parseFloat(bySecond)).toBeLessThan(Number.parseFloat(milder));
    expect(await page.locator('.peaks-chart figcaption').textContent()).toContain('in any second');
    expect(new URLSearchParams(page.url().split('?')[1]).toString()).toBe(
      'key=ip&algorithm=fixed-window&limit=2&window=1s',
    );
  });

  it('comes from an address that was passed on, and goes back to what the log suggests', async () => {
    const page = await openTuner('?key=ip&algorithm=sliding-log&limit=7&window=10s');
    await readExample(page);
    expect(await limitWords(page)).toBe('7 in 10 seconds');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByRole('button', { name: 'In use' }).waitFor();
    expect(await page.getByRole('radio', { name: 'gcra' }).isChecked()).toBe(true);
  });

  it('is found for every algorithm when asked for', async () => {
    const page = await openTuner();
    await readExample(page);
    await page.getByRole('button', { name: 'Find them' }).click();
    const table = page.getByRole('region', { name: 'Smallest limits by algorithm' });
    await table.waitFor();
    const names = await table.locator('tbody td:first-child').allTextContents();
    for (const name of [
      'gcra',
      'token-bucket',
      'leaky-bucket',
      'fixed-window',
      'sliding-window',
      'sliding-slots',
      'sliding-log',
    ]) {
      expect(
        names.some((one) => one.startsWith(name)),
        name,
      ).toBe(true);
    }
    const limitOf = async () => Number(await table.locator('tbody tr').first().locator('td').nth(1).textContent());
    const mild = await limitOf();
    await page.getByRole('radio', { name: '10% of the calls' }).check();
    await expect.poll(limitOf, { timeout: 30_000 }).toBeLessThan(mild);
  });
});

it('a copied rule is one that the service takes', async () => {
  const page = await openTuner();
  await readExample(page);
  for (const algorithm of ['gcra', 'leaky-bucket', 'sliding-slots']) {
    await page.getByRole('radio', { name: algorithm }).check();
    await page.getByRole('button', { name: 'Copy: YAML' }).click();
    await page.getByRole('button', { name: 'Copied: YAML' }).waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    const read = readConfig({ text });
    expect('config' in read && read.config.rules).toMatchObject([{ name: 'per-ip', policy: { algorithm } }]);
  }
});
