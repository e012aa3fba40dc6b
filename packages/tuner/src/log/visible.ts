/** A line of a log as a person may be shown it: short, and with nothing in it that a terminal or a page would act on. */

const longestShown = 120;

// Controls, what reorders text, and what cannot be seen. A log is written by whoever calls.
const unseen = /[\p{C}\p{Zl}\p{Zp}\u00a0]/gu;

export function visible(bytes: Uint8Array, start: number, end: number): string {
  const isCut = end - start > longestShown;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  // `stream`: a character of which the end was cut off is left out, instead of shown as a wrong one.
  const text = decoder.decode(bytes.subarray(start, isCut ? start + longestShown : end), { stream: isCut });
  return visibleText(text) + (isCut ? '...' : '');
}

export function visibleText(text: string): string {
  return text.replace(unseen, (character) => {
    const code = character.codePointAt(0)!;
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}
