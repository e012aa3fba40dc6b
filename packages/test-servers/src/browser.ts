/**
 * A real browser: Debian's Chromium, driven by playwright-core. It is the one without windows: those that nobody sees took half of the processor time.
 *
 * What a page should not do is an error here: anything it logs as one, throws, or asks of another host ends up in `complaints`, which a test
 * expects to be empty.
 */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { ensureDebianPackage } from './debian-package.ts';

export interface OpenPage {
  readonly page: Page;
  /** Errors in the console, exceptions, requests to elsewhere. */
  readonly complaints: readonly string[];
}

export interface TestBrowser {
  /** A page with cookies and storage of its own. */
  open(options?: BrowserContextOptions): Promise<OpenPage>;
  close(): Promise<void>;
}

export function ensureChromium(): Promise<string> {
  return ensureDebianPackage('chromium-headless-shell', ['chromium-headless-shell', 'fonts-dejavu-core']);
}

export async function startBrowser(): Promise<TestBrowser> {
  const browser = await launch();
  return {
    async open(options) {
      const context = await browser.newContext({
        locale: 'en-GB',
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
        ...options,
      });
      const page = await context.newPage();
      return { page, complaints: complaintsOf(page) };
    },
    close: () => browser.close(),
  };
}

async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: await ensureChromium(),
    args: [
      // As root there is no sandbox; the pages are our own.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      // Containers give /dev/shm 64 MB, of which a page can need more.
      '--disable-dev-shm-usage',
    ],
  });
}

function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    const isOwn = ['127.0.0.1', 'localhost'].includes(hostname) || ['data:', 'blob:'].includes(protocol);
    if (!isOwn) complaints.push(`request to elsewhere: ${request.url()}`);
  });
  return complaints;
}
