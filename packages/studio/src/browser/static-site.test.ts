/** The same files on a static host, in a folder, with no service behind them: what needs none works, and what needs one says so. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { startBrowser } from '@sluice/test-servers';
import { expect, it } from 'vitest';

const site = new URL('../../site', import.meta.url);
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

function staticHost(): Promise<Server> {
  const host = createServer(({ url = '' }, response) => {
    const path = url.replace(/^\/docs\/studio\/$/, '/docs/studio/index.html');
    try {
      const bytes = readFileSync(new URL(`${site.href}${path.replace(/^\/docs\/studio/, '')}`));
      response.writeHead(200, { 'content-type': types[extname(path)] ?? 'application/octet-stream' }).end(bytes);
    } catch {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>');
    }
  });
  return new Promise((resolve) => void host.listen(0, '127.0.0.1', () => resolve(host)));
}

it('plays and tunes without a service, and says what is missing for watching one', async () => {
  const [host, browser] = await Promise.all([staticHost(), startBrowser()]);
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/docs/studio`;
  try {
    const { page, complaints } = await browser.open();
    await page.goto(`${url}/`);
    await page.getByRole('button', { name: 'Step' }).click();
    await page.getByRole('timer').waitFor();
    await page.getByRole('link', { name: 'Tuner' }).click();
    await page.getByRole('button', { name: 'Try an example' }).click();
    await page.getByText('calls refused', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await page.getByRole('navigation').getByRole('link', { name: 'Live' }).click();
    await page.getByRole('heading', { name: 'There is no service at this address' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'playground' }).click();
    await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
    expect(page.url()).toContain(`${url}/#/playground`);
    // The one thing that was asked for in vain.
    expect(complaints).toEqual([expect.stringMatching(/^console: Failed to load resource: .* 404 /)]);
  } finally {
    await browser.close();
    host.close();
  }
});
