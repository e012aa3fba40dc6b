/**
 * What stands in the files and folders of a configuration, as one short text that changes when they do. Links are followed, so a
 * swapped link is a change when, and only when, it leads to something else. What is not there, or may not be read, is a content
 * too: that it came to be so is worth knowing.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The most files that are looked at; the readers of the files have bounds of their own, and complain. */
const mostFiles = 10_000;
const deepestFolder = 16;

/** By their contents: certain, and as expensive as reading them. */
export function contentOf(paths: readonly string[]): Promise<string> {
  return digest(paths, async (path) =>
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex'),
  );
}

/** By what the file system says of them: cheap, and blind to a second change within the grain of its clock. */
export function signatureOf(paths: readonly string[]): Promise<string> {
  return digest(paths, async (path) => {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  });
}

async function digest(paths: readonly string[], describe: (path: string) => Promise<string>): Promise<string> {
  const hash = createHash('sha256');
  const seen = new Set<string>();
  const add = (path: string, what: string) => hash.update(JSON.stringify([path, what]));

  async function visit(path: string, depth: number): Promise<void> {
    try {
      const found = await stat(path);
      const isFile = found.isFile() && (depth === 0 || /\.ya?ml$/.test(path));
      if (!isFile && !found.isDirectory()) return;
      const real = await realpath(path);
      if (seen.has(real) || seen.size >= mostFiles || depth > deepestFolder) return;
      seen.add(real);
      if (isFile) return void add(path, await describe(path));
      // Hidden names are how Kubernetes keeps the versions of a volume; what is in force has a name that leads there.
      const names = (await readdir(path)).filter((name) => !name.startsWith('.')).sort();
      for (const name of names) await visit(join(path, name), depth + 1);
    } catch (error) {
      add(path, String((error as NodeJS.ErrnoException).code));
    }
  }

  for (const path of paths) await visit(path, 0);
  return hash.digest('hex');
}
