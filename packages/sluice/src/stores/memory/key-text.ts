const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const latin1 = new TextDecoder('latin1');

/** The text of a key given as bytes. Bytes that are not UTF-8 become a text that no text is likely to be. */
export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    // Not a failure: keys may be any bytes, and this is how such a one is written as text.
    return `\uffff${latin1.decode(bytes)}`;
  }
}
