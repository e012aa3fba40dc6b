/** A request as bytes in which only the key changes: twelve digits, so that lengths written elsewhere in it stay right. */
export const keyPlaceholder = '{key}';
const keyDigits = 12;
const noKey = '0'.repeat(keyDigits);

/** The text with some key in it, for whoever has to know its length. */
export function withSomeKey(text: string): string {
  return text.replace(keyPlaceholder, noKey);
}

const firstDigit = 48;

export class KeyedBytes {
  readonly bytes: Buffer;
  private readonly keyAt: number;

  /** `bytes` has the key of `withSomeKey` in it. */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.keyAt = bytes.indexOf(noKey);
    if (this.keyAt < 0) throw new Error(`A question must have ${keyPlaceholder} in it: ${bytes.toString('latin1')}`);
  }

  /** Writes the request about this key into a buffer that has room for it. */
  writeTo(target: Buffer, at: number, key: number): void {
    this.bytes.copy(target, at);
    let rest = key;
    for (let place = at + this.keyAt + keyDigits - 1; rest > 0; place -= 1) {
      const shorter = Math.floor(rest / 10);
      target[place] = firstDigit + rest - 10 * shorter;
      rest = shorter;
    }
  }
}
