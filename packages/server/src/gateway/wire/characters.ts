/** Which bytes may stand where in a head (RFC 9110 5.5 and 5.6.2, RFC 3986), as tables of 256: one look per byte. */

export const lineFeed = 0x0a;
export const carriageReturn = 0x0d;
export const space = 0x20;
export const tab = 0x09;
export const colon = 0x3a;

/** The byte of a name in lower case; 0: no byte of a token. */
export const nameByte = new Uint8Array(256);
/** 1: may stand in a value. Bytes above ASCII may: they are passed on as they came. */
export const isValueByte = new Uint8Array(256);
/** 1: may stand in the path of a target; 2: only behind its `?`. */
export const targetByte = new Uint8Array(256);
/** 1: may stand in a host name. */
const isHostByte = new Uint8Array(256);
/** The digit's value and one; 0: no digit of a hexadecimal number. */
export const hexDigit = new Uint8Array(256);

const marksOfToken = "!#$%&'*+-.^_`|~";
for (let byte = 0; byte < 256; byte++) {
  const character = String.fromCharCode(byte);
  const isAlphanumeric = /[0-9A-Za-z]/.test(character);
  if (isAlphanumeric || marksOfToken.includes(character)) nameByte[byte] = character.toLowerCase().charCodeAt(0);
  if (byte === tab || (byte >= space && byte !== 0x7f)) isValueByte[byte] = 1;
  // More than RFC 3986 has: browsers send some marks as they are. `#` would begin a fragment, and `"<>` come from nobody but attackers.
  // `\` in a path is `/` for some: nobody sends it there, but browsers do in a query.
  if (byte > space && byte < 0x7f && !'#"<>\\'.includes(character)) targetByte[byte] = 1;
  if (character === '\\') targetByte[byte] = 2;
  if (isAlphanumeric || '-._~'.includes(character)) isHostByte[byte] = 1;
  if (/[0-9A-Fa-f]/.test(character)) hexDigit[byte] = Number.parseInt(character, 16) + 1;
}

export function isToken(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0xff || nameByte[code] === 0) return false;
  }
  return text.length > 0;
}

export function isHostName(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0xff || isHostByte[code] === 0) return false;
  }
  return text.length > 0;
}

/** Without the blanks around it. Not `trim`, which takes more for blank, nor an expression, which takes the square of the time of many blanks. */
export function withoutBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

/** What was wrong, without repeating it: a refusal must not carry an attacker's bytes into a log or an answer. */
export function byteName(byte: number | undefined): string {
  return byte === undefined ? 'its end' : `byte 0x${byte.toString(16).padStart(2, '0')}`;
}
