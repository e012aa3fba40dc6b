/**
 * Where a text stops being JSON, or says something twice. `JSON.parse` is faster, but does not always tell where, and takes the last of two
 * equal fields without a word: a proxy in front that takes the first would see another request than we do. So this walks the text
 * only once something is known to be wrong with it, and without recursion, because the text is a stranger's.
 */

export interface JsonFault {
  readonly position: number;
  readonly message: string;
}

type Expected = 'value' | 'value or ]' | 'field or }' | 'field' | 'colon' | 'comma or end';

const words: Record<Expected, string> = {
  value: 'a value',
  'value or ]': 'a value or ]',
  'field or }': 'a field name in double quotes or }',
  field: 'a field name in double quotes',
  colon: 'a colon',
  'comma or end': 'a comma or the end of what is open',
};

const blanks = /[ \t\n\r]*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

export function jsonFault(text: string): JsonFault | undefined {
  // What is open: the fields of an object so far, or undefined for a list.
  const open: (Set<string> | undefined)[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    at = skip(blanks, text, at);
    if (at === text.length && expected === 'comma or end' && open.length === 0) return undefined;
    const unexpected = { position: at, message: `expected ${words[expected]}, found ${found(text, at)}` };
    const character = text[at];
    if (expected === 'comma or end') {
      if (open.length === 0) return { ...unexpected, message: `expected the end, found ${found(text, at)}` };
      const fields = open.at(-1);
      if (character === (fields ? '}' : ']')) open.pop();
      else if (character === ',') expected = fields ? 'field' : 'value';
      else return unexpected;
      at += 1;
    } else if (expected === 'colon') {
      if (character !== ':') return unexpected;
      expected = 'value';
      at += 1;
    } else if (expected === 'field' || expected === 'field or }') {
      if (character === '}' && expected === 'field or }') {
        open.pop();
        expected = 'comma or end';
        at += 1;
        continue;
      }
      if (character !== '"') return unexpected;
      const end = stringEnd(text, at);
      if (typeof end !== 'number') return end;
      const field = JSON.parse(text.slice(at, end)) as string;
      const fields = open.at(-1);
      if (fields?.has(field)) return { position: at, message: `the field ${shortened(field)} is there twice` };
      fields?.add(field);
      expected = 'colon';
      at = end;
    } else if (character === ']' && expected === 'value or ]') {
      open.pop();
      expected = 'comma or end';
      at += 1;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : undefined);
      expected = character === '{' ? 'field or }' : 'value or ]';
      at += 1;
    } else {
      const end = character === '"' ? stringEnd(text, at) : skip(scalar, text, at);
      if (typeof end !== 'number') return end;
      if (end === at) return unexpected;
      expected = 'comma or end';
      at = end;
    }
  }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** Where the string that begins at `start` ends, or what is wrong in it. */
function stringEnd(text: string, start: number): number | JsonFault {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === 0x22) return at + 1;
    if (character < 0x20) {
      return { position: at, message: `a control character in a string must be written as \\u${hex(character)}` };
    }
    if (character !== 0x5c) continue;
    const end = skip(escaped, text, at);
    if (end === at) return { position: at, message: 'no such escape in a string' };
    at = end - 1;
  }
  return { position: text.length, message: `the string that begins at position ${start} does not end` };
}

function found(text: string, at: number): string {
  const character = text.codePointAt(at);
  return character === undefined ? 'the end' : shortened(String.fromCodePoint(character));
}

function shortened(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 37)}...` : text);
}

function hex(character: number): string {
  return character.toString(16).padStart(4, '0');
}
