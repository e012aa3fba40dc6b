/** How each view looks: on a phone and on a wide screen, in the light and in the dark; and whether it can be used without looking. */
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.test-support.ts';
import { layoutProblems } from './layout.test-support.ts';
import { expectLook, useOneFont } from './looks.test-support.ts';
import { useStudio } from './studio.test-support.ts';

const studio = useStudio({
  config: `
workers: 1
rules:
  - { name: per-address, key: ip, algorithm: gcra, limit: 100, window: 1m, burst: 20 }
  - { name: per-user, key: user, algorithm: sliding-log, limit: 3, window: 1d }
  - { name: on-trial, key: user, algorithm: fixed-window, limit: 2, window: 1d, shadow: true }
`,
});

interface View {
  readonly name: string;
  readonly hash: string;
  /** Until it is in a state that is always the same. */
  readonly settle: (page: Page) => Promise<void>;
  readonly moving?: (page: Page) => readonly Locator[];
}

const views: readonly View[] = [
  {
    name: 'playground',
    hash: '#/playground?limit=10&window=10s&burst=5&shape=bursts&rate=1.5&seed=7&lane=fixed-window&at=29100',
    settle: (page) => page.getByRole('timer').waitFor(),
  },
  {
    name: 'live',
    hash: '#/live',
    async settle(page) {
      // Until it has seen a second without traffic.
      await page.locator('.numbers div', { hasText: 'Requests/s' }).getByText('0', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      const uptime = page.locator('.facts div', { hasText: 'Up' }).locator('dd');
      await uptime.evaluate((element) => {
        element.textContent = '9 s';
      });
    },
    // With the service's port in it.
    moving: (page) => [page.locator('pre')],
  },
  { name: 'tuner', hash: '#/tuner', settle: (page) => page.getByText('Drop an access log here').waitFor() },
  {
    name: 'tuner-with-a-log',
    hash: '#/tuner',
    async settle(page) {
      await page.getByRole('button', { name: 'Try an example' }).click();
      await page.getByText('calls refused', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Find them' }).click();
      await page.getByRole('region', { name: 'Smallest limits by algorithm' }).waitFor();
    },
  },
];

const screens = [
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
] as const;

beforeAll(async () => {
  for (let i = 0; i < 30; i++) {
    const subject = { user: `user-${[0, 1, 0, 2, 0, 1][i % 6]}`, ip: `192.0.2.${i % 4}` };
    const response = await fetch(`${studio.service.url}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ subject }),
    });
    await response.text();
  }
});

describe.each(screens)('on a screen of $width by $height', (viewport) => {
  it.each(views)('$name is whole, as it was, and of use to everybody', async ({ name, hash, settle, moving }) => {
    const desk = await studio.browser.open();
    const page = await studio.open(hash, { viewport });
    await useOneFont(page);
    await settle(page);
    // No light of the pointer on anything.
    await page.mouse.move(0, 0);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // What is on a canvas is drawn with the next frame.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      expect(await layoutProblems(page)).toEqual([]);
      await expectLook(page, desk.page, `${name}-${viewport.width}-${colorScheme}`, moving?.(page));
      await expectAccessible(page);
    }
    await desk.page.context().close();
  });
});
