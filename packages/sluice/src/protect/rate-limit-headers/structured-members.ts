/**
 * Structured fields (RFC 9651), as far as rate limits need them: lists of items with parameters, and dictionaries of them.
 *
 *      "burst";q=100;w=60, "daily";q=1000;w=86400       drafts 8 to 11: names are strings
 *      10, 10;w=1;name="x"                              draft 6 and Envoy: bare numbers
 *      limit=100, remaining=50, reset=30                draft 7: a dictionary
 *
 * One that does not parse is ignored as a whole, as the RFC has it. Three liberties, for servers that exist: keys may have capitals,
 * there may be spaces before a semicolon, and the bytes between colons need not be canonical base64 (those in the draft's own
 * examples are not).
 */

/** A number; a string or a token, as text; bytes, in base64; a claim; or a kind that no rate limit is written in. */
export type BareItem =
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'other'; readonly value: string };

export interface Member {
  /** Of a member of a dictionary. */
  readonly key: string | undefined;
  readonly item: BareItem;
  readonly parameters: ReadonlyMap<string, BareItem>;
}

const maxMembers = 64;
const maxParameters = 64;

// Sticky: each looks exactly where the last one ended, so that no input costs more than one pass.
const spaces = /[ \t]*/y;
const keyPattern = /[a-zA-Z*][a-zA-Z0-9_\-.*]*/y;
const numberPattern = /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y;
const stringPattern = /"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y;
const tokenPattern = /[a-zA-Z*][\w!#$%&'*+\-.^`|~:/]*/y;
const bytesPattern = /:([a-zA-Z0-9+/]*={0,2}):/y;
const booleanPattern = /\?([01])/y;
// Dates and display strings: what a parameter of somebody else's may hold.
const otherPattern = /@-?\d{1,15}|%"[\x20-\x21\x23-\x7e]*"/y;
const escaped = /\\(["\\])/g;

/** The members of a list or of a dictionary; none if it is neither. */
export function structuredMembers(text: string): readonly Member[] {
  const members: Member[] = [];
  const reader = new Reader(text);
  reader.skip(spaces);
  while (!reader.isAtEnd()) {
    const member = readMember(reader);
    if (member === undefined || members.length === maxMembers) return [];
    members.push(member);
    reader.skip(spaces);
    if (reader.isAtEnd()) break;
    if (!reader.take(',')) return [];
    reader.skip(spaces);
    // A comma that nothing follows.
    if (reader.isAtEnd()) return [];
  }
  return members;
}

function readMember(reader: Reader): Member | undefined {
  const key = readDictionaryKey(reader);
  const item = readItem(reader);
  const parameters = item && readParameters(reader);
  return parameters && { key, item, parameters };
}

/** A key counts only with its equals sign; without one it is a token. */
function readDictionaryKey(reader: Reader): string | undefined {
  const start = reader.at;
  const key = reader.match(keyPattern)?.[0];
  if (key !== undefined && reader.take('=')) return key.toLowerCase();
  reader.at = start;
  return undefined;
}

function readParameters(reader: Reader): Map<string, BareItem> | undefined {
  const parameters = new Map<string, BareItem>();
  for (let count = 0; ; count += 1) {
    const end = reader.at;
    reader.skip(spaces);
    if (!reader.take(';')) {
      reader.at = end;
      return parameters;
    }
    reader.skip(spaces);
    const key = reader.match(keyPattern)?.[0];
    const item = key && (reader.take('=') ? readItem(reader) : yes);
    if (!key || !item || count === maxParameters) return undefined;
    // Of a parameter that is there twice the last counts, as the RFC has it.
    parameters.set(key.toLowerCase(), item);
  }
}

const yes: BareItem = { type: 'boolean', value: true };

function readItem(reader: Reader): BareItem | undefined {
  const number = reader.match(numberPattern);
  // A zero with a minus sign is the same number to its sender, and would be another one to whoever compares or keeps it.
  if (number) return { type: 'number', value: Number(number[0]) + 0 };
  const string = reader.match(stringPattern);
  if (string) return { type: 'text', value: string[1]!.replace(escaped, '$1') };
  const token = reader.match(tokenPattern);
  if (token) return { type: 'text', value: token[0] };
  const bytes = reader.match(bytesPattern);
  if (bytes) return { type: 'bytes', value: bytes[1]! };
  const boolean = reader.match(booleanPattern);
  if (boolean) return { type: 'boolean', value: boolean[1] === '1' };
  const other = reader.match(otherPattern);
  return other && { type: 'other', value: other[0] };
}

class Reader {
  at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  skip(pattern: RegExp): void {
    this.match(pattern);
  }

  match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.at = pattern.lastIndex;
    return found;
  }
}
