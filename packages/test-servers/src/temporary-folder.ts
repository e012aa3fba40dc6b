/** A folder for one server, gone with it; at the latest when this process exits. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();

process.on('exit', () => {
  for (const folder of folders) removeFolder(folder);
});

export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  // A server that was just killed may have a child that still writes a dump: try again instead of failing.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  folders.delete(folder);
}
