/**
 * The studio's built pages. They are read once, from the list of what is in the folder; a request is looked up in that list, so none of
 * its bytes ever becomes a path of the file system.
 *
 *      /                    index.html    asked for again each time, and mostly answered with 304
 *      /assets/x-3f2a.js    named by what is in it: kept for ever
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Answer } from '../service/service.ts';
import { htmlType, plainType, type Reply } from './reply.ts';

export interface Site {
  readonly index: SiteFile;
  /** By their paths: `/assets/x-3f2a.js`. */
  readonly files: ReadonlyMap<string, SiteFile>;
}

/** Where the studio was built; undefined: it was not. */
export function studioFolder(): string | undefined {
  let installed: string;
  try {
    installed = createRequire(import.meta.url).resolve('@sluice/studio/package.json');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
  const folder = join(dirname(installed), 'site');
  return existsSync(join(folder, 'index.html')) ? folder : undefined;
}

/** @param folder with an index.html */
export function readSite(folder: string): Site {
  const files = new Map<string, SiteFile>();
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = `/${relative(folder, file).split(sep).join('/')}`;
    files.set(path, new SiteFile(path, readFileSync(file)));
  }
  const index = files.get('/index.html');
  if (index === undefined) throw new Error(`There is no index.html in ${folder}.`);
  return { index, files };
}

const types: Readonly<Record<string, string>> = {
  '.html': htmlType,
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': plainType,
  '.yaml': 'application/yaml',
  '.wasm': 'application/wasm',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

// What is packed already.
const isDense = /^(?:image\/(?!svg)|font\/)/;

/** The page asks nobody but the door it came from, runs nothing but its own files, and is shown in nobody's frame. */
export const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const strictHeaders = [
  ...['Content-Security-Policy', contentSecurityPolicy],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
] as const;

// The highest takes ten times as long, for a few hundredths less.
const brotliQuality = 9;

type Encoding = 'br' | 'gzip';

const packers: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: promisify<Buffer, Buffer>(gzip),
};

export class SiteFile {
  readonly type: string;
  readonly #bytes: Buffer;
  /** Weak: the same for every encoding. */
  readonly #tag: string;
  readonly #cacheControl: string;
  // Made when the first browser asks.
  readonly #packed = new Map<Encoding, Promise<Buffer>>();

  constructor(path: string, bytes: Buffer) {
    this.type = types[extname(path)] ?? 'application/octet-stream';
    this.#bytes = bytes;
    this.#tag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    this.#cacheControl = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
  }

  /** @param vary what else the answer depends on */
  reply(headers: IncomingHttpHeaders, ...vary: readonly string[]): Answer<Reply> {
    const encoding = isDense.test(this.type) ? undefined : encodingOf(headers['accept-encoding']);
    const varies = isDense.test(this.type) ? vary : [...vary, 'Accept-Encoding'];
    const own = ['ETag', this.#tag, 'Cache-Control', this.#cacheControl, ...strictHeaders];
    if (varies.length > 0) own.push('Vary', varies.join(', '));
    if (isKnown(headers['if-none-match'], this.#tag)) return { status: 304, type: '', body: '', headers: own };
    if (encoding === undefined) return this.#sent(this.#bytes, own);
    return this.#packedAs(encoding).then((bytes) => this.#sent(bytes, [...own, 'Content-Encoding', encoding]));
  }

  #sent(bytes: Buffer, headers: readonly string[]): Reply {
    return { status: 200, type: this.type, body: '', headers, bytes };
  }

  #packedAs(encoding: Encoding): Promise<Buffer> {
    const known = this.#packed.get(encoding);
    if (known !== undefined) return known;
    const packed = packers[encoding](this.#bytes);
    this.#packed.set(encoding, packed);
    return packed;
  }
}

/** The better of those that the client understands. */
function encodingOf(accepted: string | string[] | undefined): Encoding | undefined {
  const names = String(accepted ?? '')
    .toLowerCase()
    .split(',')
    .filter((one) => !/;\s*q=0(?:\.0*)?\s*$/.test(one))
    .map((one) => one.split(';', 1)[0]?.trim());
  if (names.includes('br')) return 'br';
  return names.includes('gzip') ? 'gzip' : undefined;
}

function isKnown(tags: string | undefined, own: string): boolean {
  if (tags === undefined) return false;
  const strong = (tag: string) => tag.trim().replace(/^W\//, '');
  return tags.trim() === '*' || tags.split(',').some((tag) => strong(tag) === strong(own));
}
