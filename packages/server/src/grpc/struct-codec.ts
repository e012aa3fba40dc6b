/**
 * Plain JSON as `google.protobuf.Struct`, which is how Envoy takes dynamic metadata.
 *
 *      Struct { map<string, Value> fields = 1 }      an entry of a map is a message { key = 1; value = 2 }
 *      Value  { null = 1, number = 2, string = 3, bool = 4, struct = 5, list = 6 }
 *      List   { repeated Value values = 1 }
 */
import { lengthDelimitedTag, varintTag } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

/** Receivers of protobuf stop at 100 nested messages, and a level of JSON takes up to three of them. */
export const depthMax = 32;

const numberTag = (2 << 3) | 1;

/** Whether maps and lists are nested deeper than so many; looks no further than that. */
export function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return most === 0 || Object.values(value).some((below) => isDeeper(below, most - 1));
}

export function writeStruct(
  writer: WireWriter,
  tag: number,
  fields: Readonly<Record<string, unknown>>,
  depth = 1,
): void {
  if (depth > depthMax) throw new Error(`dynamic metadata must be nested at most ${depthMax} deep`);
  const start = writer.open(tag);
  for (const [key, value] of Object.entries(fields)) {
    // JSON has no undefined; a field that is not there is left out, as JSON.stringify does.
    if (value === undefined) continue;
    const entryStart = writer.open(lengthDelimitedTag(1));
    writer.string(lengthDelimitedTag(1), key);
    writeValue(writer, lengthDelimitedTag(2), value, depth);
    writer.close(entryStart);
  }
  writer.close(start);
}

function writeValue(writer: WireWriter, tag: number, value: unknown, depth: number): void {
  const start = writer.open(tag);
  if (typeof value === 'string') writer.string(lengthDelimitedTag(3), value);
  else if (typeof value === 'number') writer.double(numberTag, value);
  else if (typeof value === 'boolean') writer.uint(varintTag(4), value ? 1 : 0);
  else if (Array.isArray(value)) writeList(writer, value, depth + 1);
  else if (typeof value === 'object' && value !== null) {
    writeStruct(writer, lengthDelimitedTag(5), value as Record<string, unknown>, depth + 1);
  } else writer.uint(varintTag(1), 0);
  writer.close(start);
}

function writeList(writer: WireWriter, values: readonly unknown[], depth: number): void {
  if (depth > depthMax) throw new Error(`dynamic metadata must be nested at most ${depthMax} deep`);
  const start = writer.open(lengthDelimitedTag(6));
  for (const value of values) writeValue(writer, lengthDelimitedTag(1), value, depth);
  writer.close(start);
}
