// A small site, as a builder leaves it: a page, and files whose names have a hash in them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const page = `<!doctype html><title>Studio</title><script type="module" src="/assets/index-3f2a.js"></script>${' '.repeat(500)}`;
export const script = `export const answer = 42;${' // and so on'.repeat(100)}`;
export const picture = Buffer.from('89504e470d0a1a0a00ff00ff', 'hex');

export interface SiteFolder {
  readonly path: string;
  remove(): void;
}

export function siteFolder(): SiteFolder {
  const path = mkdtempSync(join(tmpdir(), 'site-'));
  mkdirSync(join(path, 'site', 'assets'), { recursive: true });
  const put = (name: string, content: string | Buffer) => writeFileSync(join(path, 'site', name), content);
  put('index.html', page);
  put('favicon.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
  put('assets/index-3f2a.js', script);
  put('assets/style-77.css', 'body { color: red }');
  put('assets/picture-1.png', picture);
  // Beside the site, where no request may come.
  writeFileSync(join(path, 'secret.txt'), 'a secret');
  return { path: join(path, 'site'), remove: () => rmSync(path, { recursive: true }) };
}
