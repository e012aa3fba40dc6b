/** How large a shard's state is on its way to another node, about: what goes into one message is bounded, because both nodes do nothing else while they write and read it. */
import type { ShardState } from './messages.ts';

/** A message may have so much, and one shard more. */
export const mostStateBytes = 4 * 1024 * 1024;

// A time in milliseconds with its fraction, and a comma.
const bytesPerCell = 18;
const bytesPerKey = 8;

export function stateBytes({ snapshot, settled, done = [] }: ShardState): number {
  let bytes = 0;
  for (const { blocked, tables } of snapshot.names) {
    for (const [key] of blocked) bytes += key.length + bytesPerKey + bytesPerCell;
    for (const { entries } of tables) {
      for (const [key, ...cells] of entries) bytes += key.length + bytesPerKey + cells.length * bytesPerCell;
    }
  }
  for (const key of settled) bytes += key.length + bytesPerKey;
  for (const [text] of done) bytes += text.length + bytesPerKey + bytesPerCell;
  return bytes;
}
