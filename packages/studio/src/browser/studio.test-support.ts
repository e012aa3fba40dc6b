/**
 * The studio as somebody has it before them: a real service that serves it, a real browser that shows it; one of each for a test file.
 *
 * After each test its pages are closed, and nothing may have been wrong with any of them: no error in the console, no exception, no request to another host.
 */

import type { TestBrowser } from '@sluice/test-servers';
import { type OpenPage, type SluiceOptions, type SluiceService, startBrowser, startSluice } from '@sluice/test-servers';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

export interface OpenOptions extends BrowserContextOptions {
  /** Of another service than the test file's. */
  readonly url?: string;
  /** What this page is bound to complain about: browsers log each answer of 400 and above as an error. */
  readonly expected?: RegExp;
}

export interface Studio {
  readonly browser: TestBrowser;
  readonly service: SluiceService;
  /** @param hash `#/tuner` */
  open(hash?: string, options?: OpenOptions): Promise<Page>;
}

export function useStudio(options: SluiceOptions = { config: 'workers: 1' }): Studio {
  const opened: (OpenPage & { readonly expected: RegExp | undefined })[] = [];
  let browser: TestBrowser;
  let service: SluiceService;

  beforeAll(async () => {
    [browser, service] = await Promise.all([startBrowser(), startSluice(options)]);
  });

  afterAll(async () => {
    await Promise.all([browser?.close(), service?.stop()]);
  });

  afterEach(async () => {
    const pages = opened.splice(0);
    for (const { page } of pages) await page.context().close();
    const complaints = pages.flatMap(({ complaints: all, expected }) => all.filter((one) => !expected?.test(one)));
    expect(complaints).toEqual([]);
  });

  return {
    get browser() {
      return browser;
    },
    get service() {
      return service;
    },
    async open(hash = '', { url = service.url, expected, ...context } = {}) {
      const one = await browser.open(context);
      opened.push({ ...one, expected });
      await one.page.goto(`${url}/${hash}`);
      return one.page;
    },
  };
}
