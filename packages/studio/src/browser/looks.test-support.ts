/**
 * Whether a page still looks as it did when somebody last looked at it. Both pictures are made small and grey, so that the edges of letters do not matter
 * but a column that has moved does:
 *
 *      the page ──► 8×8 pixels become one, in 16 greys ──► compared with looks/<name>.png
 *
 * With REWRITE_LOOKS=1 the small pictures are written anew. The pictures in full size are in .cache/looks/ after each run.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

const references = fileURLToPath(new URL('./looks/', import.meta.url));
const fullSize = fileURLToPath(new URL('../../../../.cache/looks/', import.meta.url));
const isRewriting = process.env.REWRITE_LOOKS === '1';

const meanMost = 1;
const largestMost = 64;

/** The same letters on every machine: a page otherwise takes whichever font the system likes best. */
export async function useOneFont(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { style } = document.documentElement;
    style.setProperty('--font', '"DejaVu Sans"');
    style.setProperty('--font-mono', '"DejaVu Sans Mono"');
  });
}

/**
 * @param desk a page that does the comparing
 * @param moving what differs from one run to the next, and is painted over
 */
export async function expectLook(page: Page, desk: Page, name: string, moving: readonly Locator[] = []): Promise<void> {
  const picture = await page.screenshot({ fullPage: true, mask: [...moving], maskColor: '#808080' });
  mkdirSync(fullSize, { recursive: true });
  writeFileSync(`${fullSize}${name}.png`, picture);
  const small = await desk.evaluate(shrunk, picture.toString('base64'));
  const file = `${references}${name}.png`;
  if (isRewriting) {
    mkdirSync(references, { recursive: true });
    writeFileSync(file, Buffer.from(small, 'base64'));
    return;
  }
  const way = `If it is meant to look as in ${fullSize}${name}.png, run this test with REWRITE_LOOKS=1.`;
  expect(existsSync(file), `There is no looks/${name}.png to compare with. ${way}`).toBe(true);
  const { sizes, mean, largest, at } = await desk.evaluate(difference, {
    one: readFileSync(file).toString('base64'),
    other: small,
  });
  expect(sizes[1], `${name} has another size than looks/${name}.png, in eighths. ${way}`).toBe(sizes[0]);
  const isAlike = mean <= meanMost && largest <= largestMost;
  const words = `${name} does not look like looks/${name}.png: of 255 greys it differs by ${mean.toFixed(2)} on average (at most ${meanMost}) and by ${largest} around ${at} (at most ${largestMost}).`;
  expect(isAlike, `${words} ${way}`).toBe(true);
}

/** Runs in the page. Base64 of PNGs both ways. */
async function shrunk(picture: string): Promise<string> {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const full = new OffscreenCanvas(image.width, image.height).getContext('2d')!;
  full.drawImage(image, 0, 0);
  const from = full.getImageData(0, 0, image.width, image.height);
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(image.width / 8);
  canvas.height = Math.ceil(image.height / 8);
  const context = canvas.getContext('2d')!;
  const to = context.createImageData(canvas.width, canvas.height);
  for (let y = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++) {
      let sum = 0;
      let count = 0;
      for (let j = 8 * y; j < Math.min(8 * y + 8, image.height); j++) {
        for (let i = 8 * x; i < Math.min(8 * x + 8, image.width); i++) {
          const k = 4 * (j * image.width + i);
          sum += 0.3 * from.data[k]! + 0.59 * from.data[k + 1]! + 0.11 * from.data[k + 2]!;
          count += 1;
        }
      }
      const grey = 17 * Math.round(sum / count / 17);
      to.data.set([grey, grey, grey, 255], 4 * (y * canvas.width + x));
    }
  }
  context.putImageData(to, 0, 0);
  return canvas.toDataURL('image/png').split(',', 2)[1]!;
}

interface Difference {
  readonly sizes: readonly string[];
  readonly mean: number;
  readonly largest: number;
  /** In pixels of the page. */
  readonly at: string;
}

/** Runs in the page. */
async function difference({ one, other }: { one: string; other: string }): Promise<Difference> {
  async function pixels(picture: string): Promise<ImageData> {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!;
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  }
  const [a, b] = [await pixels(one), await pixels(other)];
  let sum = 0;
  let largest = 0;
  let at = '';
  for (let k = 0; k < a.data.length; k += 4) {
    const apart = Math.abs(a.data[k]! - (b.data[k] ?? 0));
    sum += apart;
    if (apart <= largest) continue;
    largest = apart;
    at = `${8 * ((k / 4) % a.width)}, ${8 * Math.floor(k / 4 / a.width)}`;
  }
  const sizes = [a, b].map(({ width, height }) => `${width}×${height}`);
  return { sizes, mean: sum / (a.data.length / 4), largest, at };
}
