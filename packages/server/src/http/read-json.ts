/**
 * A request's body as JSON, stricter than `JSON.parse`: no field twice, no text with a NUL or half a surrogate pair (such keys cannot be told
 * apart in every store), no nesting without end.
 *
 * The quick way is one look at the text and one at the value. The text has one colon outside of strings for each field it writes, so
 * fewer fields in the value mean that one was written twice; and only a text with a backslash can hold a NUL or half a pair.
 */
import { isUtf8 } from 'node:buffer';
import { jsonFault } from './json-fault.ts';
import { Problem, shown } from './problem.ts';

// Deeper than any request of ours; a value is walked without fear of the stack.
const deepest = 32;

/** The body's bytes as text. Bytes that are no UTF-8 would all become the same replacement character, and so the same key. */
export function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new Problem(400, 'The body is not UTF-8. Send JSON in UTF-8.');
}

export function readJson(text: string): unknown {
  let value: unknown;
  const { fields, depth, hasEscape } = lookAt(text);
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw notJson(text, error);
  }
  if (depth > deepest) throw new Problem(400, `The body is nested ${depth} deep, and at most ${deepest} is read.`);
  if (fields !== fieldsIn(value)) throw notJson(text, undefined);
  if (hasEscape) mustBeStorable(value, '');
  return value;
}

function lookAt(text: string): { fields: number; depth: number; hasEscape: boolean } {
  let fields = 0;
  let depth = 0;
  let deepestSeen = 0;
  let hasEscape = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // a string, to its end
        for (at += 1; at < text.length; at += 1) {
          const character = text.charCodeAt(at);
          if (character === 0x22) break;
          if (character !== 0x5c) continue;
          hasEscape = true;
          at += 1;
        }
        break;
      case 0x3a:
        fields += 1;
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > deepestSeen) deepestSeen = depth;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
    }
  }
  return { fields, depth: deepestSeen, hasEscape };
}

function fieldsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let fields = 0;
  if (Array.isArray(value)) {
    for (const one of value) fields += fieldsIn(one);
    return fields;
  }
  for (const field in value) {
    const one = (value as Record<string, unknown>)[field];
    fields += typeof one === 'object' ? 1 + fieldsIn(one) : 1;
  }
  return fields;
}

function mustBeStorable(value: unknown, path: string): void {
  if (typeof value === 'string') mustBeStorableText(value, path);
  if (typeof value !== 'object' || value === null) return;
  for (const [field, one] of Object.entries(value)) {
    const inner = path === '' ? field : `${path}.${field}`;
    mustBeStorableText(field, inner);
    mustBeStorable(one, inner);
  }
}

const halfPair = /\p{Surrogate}/u;

/** Refuses text that cannot be a key. `path` says where it stands. */
export function mustBeStorableText(text: string, path: string): void {
  const fault = text.includes('\0') ? 'a NUL character' : halfPair.test(text) ? 'half a surrogate pair' : undefined;
  if (fault === undefined) return;
  throw new Problem(
    400,
    `${shown(path)} must be text without ${fault}, got ${shown(text)}. Encode it, for instance as base64.`,
  );
}

function notJson(text: string, error: unknown): Problem {
  if (text.trim() === '') return new Problem(400, 'The body is empty. Send a JSON object.');
  const fault = jsonFault(text);
  // The two readers disagree: that is a fault of ours, and must not pass as the caller's.
  if (fault === undefined) throw error ?? new Error('A body was taken for JSON with a field twice, and has none.');
  const before = text.slice(0, fault.position).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1) as string).length + 1}`;
  return new Problem(400, `The body is not valid JSON at ${place}: ${fault.message}.`, {
    members: { position: fault.position },
  });
}
