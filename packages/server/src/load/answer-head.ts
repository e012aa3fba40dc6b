/**
 * The head of an HTTP answer, of which only two numbers are read: its status and the length of its body.
 *
 *      HTTP/1.1 200 OK          the status is at the same place of the first line
 *      Content-Length: 123      in any case, in any line
 *                               an empty line ends it
 *
 * Byte by byte, wherever reads end, and without making a text of it: that would cost the generator more than everything else it does for a request.
 */
const mostBytes = 65_536;
const lineFeed = 10;
const carriageReturn = 13;
const digitZero = 48;
const digitNine = 57;
/** Makes letters small, and leaves `-` and `:` as they are. */
const smallLetter = 0x20;
const statusFrom = 'HTTP/1.1 '.length;
const statusTo = statusFrom + 3;
const lengthName = Buffer.from('content-length:');

export class AnswerHead {
  status = 0;
  /** Undefined: it does not say. */
  bodyBytes: number | undefined;
  isWhole = false;
  private bytes = 0;
  private isFirstLine = true;
  private lineBytes = 0;
  /** How many bytes of this line are those of the name. */
  private matched = 0;

  /** The next one. */
  begin(): void {
    this.status = 0;
    this.bodyBytes = undefined;
    this.isWhole = false;
    this.bytes = 0;
    this.isFirstLine = true;
    this.lineBytes = 0;
    this.matched = 0;
  }

  /** Reads on, up to the end of the head at most, and says where it stopped. */
  read(bytes: Buffer, length: number): number {
    let at = 0;
    while (at < length && !this.isWhole) {
      const byte = bytes[at]!;
      at += 1;
      if (byte === lineFeed) this.endLine();
      else if (byte !== carriageReturn) this.readByte(byte);
    }
    this.bytes += at;
    if (this.bytes > mostBytes) throw new Error(`the head of an answer is longer than ${mostBytes} bytes`);
    return at;
  }

  private endLine(): void {
    this.isWhole = this.lineBytes === 0;
    this.isFirstLine = false;
    this.lineBytes = 0;
    this.matched = 0;
  }

  private readByte(byte: number): void {
    const place = this.lineBytes;
    this.lineBytes = place + 1;
    if (this.isFirstLine) {
      if (place >= statusFrom && place < statusTo) this.status = 10 * this.status + byte - digitZero;
    } else if (this.matched === lengthName.length) {
      if (byte >= digitZero && byte <= digitNine) this.bodyBytes = 10 * (this.bodyBytes ?? 0) + byte - digitZero;
    } else if (this.matched === place && (byte | smallLetter) === lengthName[place]) this.matched += 1;
  }
}
