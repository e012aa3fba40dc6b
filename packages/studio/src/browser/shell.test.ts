/** The frame around the views: getting about by mouse and by keyboard, light and dark, and what is there when something is missing. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useStudio } from './studio.test-support.ts';

const studio = useStudio();

const views = [
  { title: 'Playground', hash: '#/playground', heading: 'Playground' },
  { title: 'Live', hash: '#/live', heading: 'Live' },
  { title: 'Tuner', hash: '#/tuner', heading: 'What would a limit have refused?' },
] as const;

function isShown(page: Page, heading: string): Promise<void> {
  return page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
}

async function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute('aria-label') ?? element?.textContent?.trim() ?? '';
  });
}

describe('going from view to view', () => {
  it('is a click, with a title and an address of its own, and the back button goes back', async () => {
    const page = await studio.open();
    await isShown(page, 'Playground');
    expect(await page.title()).toBe('Playground · Sluice studio');
    for (const { title, hash, heading } of [views[1], views[2], views[0]]) {
      await page.getByRole('link', { name: title }).click();
      await isShown(page, heading);
      expect(await page.title()).toBe(`${title} · Sluice studio`);
      expect(new URL(page.url()).hash.split('?', 1)[0]).toBe(hash);
      const current = page.locator('nav [aria-current=page]');
      expect(await current.allTextContents()).toEqual([title]);
    }
    await page.goBack();
    await isShown(page, views[2].heading);
    await page.goBack();
    await isShown(page, 'Live');
    await page.goForward();
    await isShown(page, views[2].heading);
  });

  it('is done with the keyboard alone: past the frame, or through it', async () => {
    const page = await studio.open('#/tuner');
    await isShown(page, views[2].heading);
    const order: string[] = [];
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press('Tab');
      order.push(await focused(page));
    }
    expect(order).toEqual(['Skip to the content', 'Playground', 'Live', 'Tuner', 'Use the dark theme']);

    for (let i = 0; i < 2; i++) await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await isShown(page, 'Live');
    for (let i = 0; i < 2; i++) await page.keyboard.press('Shift+Tab');
    const skip = page.getByRole('button', { name: 'Skip to the content' });
    // Out of sight until it is in focus.
    expect((await skip.boundingBox())!.x).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    expect((await skip.boundingBox())!.x).toBeLessThan(0);
    await page.locator('main button').first().waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  });

  it('leads to the playground where the address makes no sense', async () => {
    const page = await studio.open('#/nonsense?limit=%F0');
    await isShown(page, 'Playground');
    expect(await page.title()).toBe('Playground · Sluice studio');
  });
});

describe('light and dark', () => {
  const groundOf = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = 'rgb(246, 247, 249)';
  const dark = 'rgb(15, 21, 28)';

  it('is what the system says, until somebody chooses, and the choice survives a reload', async () => {
    const page = await studio.open('#/tuner', { colorScheme: 'dark' });
    await isShown(page, views[2].heading);
    expect(await groundOf(page)).toBe(dark);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await groundOf(page)).toBe(light);
    await page.getByRole('button', { name: 'Use the dark theme' }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Use the light theme' }).click();
    expect(await groundOf(page)).toBe(light);
    await page.reload();
    await page.getByRole('button', { name: 'Use the dark theme' }).waitFor();
    expect(await groundOf(page)).toBe(light);
  });

  it('is a choice that works where nothing may be stored', async () => {
    const page = await studio.open('#/tuner', { colorScheme: 'light' });
    await page.addInitScript(() => {
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('Storage is forbidden.', 'SecurityError');
        },
      });
    });
    await page.reload();
    await page.getByRole('button', { name: 'Use the dark theme' }).click();
    expect(await groundOf(page)).toBe(dark);
  });
});

it('says without JavaScript what it needs, and where else the answers are', async () => {
  const page = await studio.open('', { javaScriptEnabled: false });
  const sentence = page.locator('noscript');
  await sentence.waitFor();
  expect((await sentence.boundingBox())!.height).toBeGreaterThan(10);
  expect(await sentence.textContent()).toMatch(/needs JavaScript\. GET \/ with curl/);
});

it('says when a view cannot be loaded, and loads it after a reload', async () => {
  const page = await studio.open('#/tuner', {
    expected: /^console: Failed to load resource: net::ERR_INTERNET_DISCONNECTED/,
  });
  await isShown(page, views[2].heading);
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Playground' }).click();
  const alert = page.getByRole('alert');
  await alert.waitFor();
  expect(await alert.textContent()).toMatch(/^This view could not be loaded: .+ Reload the page to try again\.$/);
  await page.context().setOffline(false);
  await page.reload();
  await isShown(page, 'Playground');
});

it('comes with a policy that lets it ask nobody but its own service', async () => {
  const page = await studio.open('#/tuner', { expected: /Content Security Policy|example\.com/ });
  await isShown(page, views[2].heading);
  const isBlocked = await page.evaluate(async () => {
    const failed = await fetch('https://example.com/').then(
      () => false,
      () => true,
    );
    const script = document.createElement('script');
    script.textContent = 'globalThis.wasRun = true';
    document.head.append(script);
    return failed && !('wasRun' in globalThis);
  });
  expect(isBlocked).toBe(true);
});
