/** Writes header blocks (RFC 7541): by the shared table, and for the rest in plain words, so that nothing has to be remembered of a connection. */
import { numberOfName } from './field-table.ts';

/** Tells the other side that its table is empty. Due once, when it has asked for a smaller one. */
export const emptyTable = Buffer.of(0x20);

const okStatus = Buffer.of(0x88);

/** Names in lower case; `:status` first. Values are bytes of Latin-1. */
export function fieldBlock(fields: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (name === ':status' && value === '200') parts.push(okStatus);
    else {
      const number = numberOfName(name);
      // Not added to the table.
      parts.push(integer(4, number));
      if (number === 0) parts.push(text(name));
      parts.push(text(value));
    }
  }
  return Buffer.concat(parts);
}

function text(characters: string): Buffer {
  const bytes = Buffer.from(characters, 'latin1');
  return Buffer.concat([integer(7, bytes.length), bytes]);
}

function integer(bits: number, value: number): Buffer {
  const most = (1 << bits) - 1;
  if (value < most) return Buffer.of(value);
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}
