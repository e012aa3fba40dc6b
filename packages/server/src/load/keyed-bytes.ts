/**
 * A request as bytes in which only the key changes: twelve digits, so that lengths written elsewhere in it stay right. `{id}` stands for as
 * many, which are different in each request: for services that answer the same request with the same answer.
 */
export const keyPlaceholder = '{key}';
const idPlaceholder = '{id}';
const placeDigits = 12;
const noKey = '0'.repeat(placeDigits);
const noId = 'i'.repeat(placeDigits);

/** The text with some key in it, for whoever has to know its length. */
export function withSomeKey(text: string): string {
  return text.replace(keyPlaceholder, noKey).replace(idPlaceholder, noId);
}

const firstDigit = 48;
const ids = 10 ** placeDigits;

export class KeyedBytes {
  readonly bytes: Buffer;
  private readonly keyAt: number;
  /** Below 0: it has none. */
  private readonly idAt: number;
  /** Somewhere: generators that run at the same time have different ones. */
  private id = Math.floor(Math.random() * ids);

  /** `bytes` has the key of `withSomeKey` in it. */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.keyAt = bytes.indexOf(noKey);
    this.idAt = bytes.indexOf(noId);
    if (this.keyAt < 0) throw new Error(`A question must have ${keyPlaceholder} in it: ${bytes.toString('latin1')}`);
    if (this.idAt >= 0) bytes.write(noKey, this.idAt, 'latin1');
  }

  /** Writes the request about this key into a buffer that has room for it. */
  writeTo(target: Buffer, at: number, key: number): void {
    this.bytes.copy(target, at);
    writeDigits(target, at + this.keyAt, key);
    if (this.idAt < 0) return;
    this.id = (this.id + 1) % ids;
    writeDigits(target, at + this.idAt, this.id);
  }
}

/** Where there are zeros. */
function writeDigits(target: Buffer, at: number, value: number): void {
  let rest = value;
  for (let place = at + placeDigits - 1; rest > 0; place -= 1) {
    const shorter = Math.floor(rest / 10);
    target[place] = firstDigit + rest - 10 * shorter;
    rest = shorter;
  }
}
