// Takes the pictures of the studio for the README and the guides, from the studio itself: `npm run picture`.
// The states are fixed by their addresses, so the same sources make the same pictures.
import { mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { startBrowser, startSluice } from '@sluice/test-servers';
import { build, installDependencies, root } from './set-up.mjs';

/** @typedef {import('playwright-core').Page} Page */

/**
 * @typedef {object} Picture
 * @property {string} name
 * @property {string} hash
 * @property {number} height
 * @property {(page: Page) => Promise<unknown>} settle until it is in a state that is always the same
 */

const folder = join(root, 'docs/pictures');
const width = 1280;

/** @type {Picture[]} */
const pictures = [
  {
    // Around a boundary a fixed window lets twice its limit pass, beside those that do not.
    name: 'playground',
    hash: '#/playground?limit=10&window=10s&burst=5&shape=boundary&rate=1.2&lane=fixed-window&at=37000',
    height: 876,
    async settle(page) {
      await page.getByRole('slider', { name: 'Fixed window: calls' }).focus();
      await page.keyboard.press('PageUp');
      await page.getByText('the count starts again in').last().waitFor();
    },
  },
  {
    name: 'tuner',
    hash: '#/tuner',
    height: 800,
    async settle(page) {
      await page.getByRole('button', { name: 'Try an example' }).click();
      await page.getByText('calls refused', { exact: true }).waitFor();
    },
  },
];

if (!installDependencies() || !build()) process.exit(1);
mkdirSync(folder, { recursive: true });
const [service, browser] = await Promise.all([startSluice({ config: 'workers: 1' }), startBrowser()]);
try {
  for (const picture of pictures) {
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) await take(picture, colorScheme);
  }
} finally {
  await Promise.all([browser.close(), service.stop()]);
}

/**
 * @param {Picture} picture
 * @param {'light' | 'dark'} colorScheme
 */
async function take({ name, hash, height, settle }, colorScheme) {
  const { page, complaints } = await browser.open({ viewport: { width, height }, colorScheme });
  await page.goto(`${service.url}/${hash}`);
  // The same letters on every machine.
  await page.evaluate(() => {
    document.documentElement.style.setProperty('--font', '"DejaVu Sans"');
    document.documentElement.style.setProperty('--font-mono', '"DejaVu Sans Mono"');
  });
  await settle(page);
  await page.mouse.move(0, 0);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const path = join(folder, `${name}-${colorScheme}.png`);
  await page.screenshot({ path });
  await page.context().close();
  if (complaints.length > 0) throw new Error(`The page complained: ${complaints.join('; ')}`);
  console.log(`${relative(root, path)}: ${Math.ceil(statSync(path).size / 1000)} kB`);
}
