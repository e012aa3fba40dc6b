/** The Redis protocol, pipelined: answers come in the order of the commands. */
import type { OpenDialogue } from './dialogue.ts';
import { KeyedBytes, withSomeKey } from './keyed-bytes.ts';
import type { Question } from './load-order.ts';
import { RequestRing } from './request-ring.ts';

const lineFeed = 10;
const carriageReturn = 13;
const digitZero = 48;
const nine = 57;
const minus = 45;
const [array, bulk] = [42, 36];

/** No line of an answer is longer: an error, or a number. */
const longestLine = 4096;

export function respDialogue({ words }: Extract<Question, { protocol: 'resp' }>, depth: number): OpenDialogue {
  const known = words.map(withSomeKey);
  const text = known.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('');
  const command = new KeyedBytes(Buffer.from(`*${known.length}\r\n${text}`));

  return (out, { answered }) => {
    const asked = new RequestRing(depth);
    /** Values that are missing until the answer is whole. */
    let missing = 1;
    let problem: string | undefined;
    /** Of the line that is being read: its first byte, the number behind it, its bytes. */
    let kind = 0;
    let number = 0;
    let isNegative = false;
    let lineBytes = 0;
    let errorText = '';
    /** Bytes of a text that follow, with its line end. */
    let skip = 0;

    function endLine(): void {
      missing -= 1;
      if (kind === array && !isNegative) missing += number;
      else if (kind === bulk && !isNegative) skip = number + 2;
      else if (kind === minus) problem ??= errorText;
      kind = number = lineBytes = 0;
      isNegative = false;
      errorText = '';
      if (missing === 0 && skip === 0) endAnswer();
    }

    function endAnswer(): void {
      const trouble = problem;
      missing = 1;
      problem = undefined;
      answered(asked.shift(), trouble);
    }

    return {
      room: () => asked.room,
      ask(request, key) {
        const at = out.reserve(command.bytes.length);
        command.writeTo(out.bytes, at, key);
        asked.push(request);
      },
      read(bytes, length = bytes.length) {
        for (let at = 0; at < length; at += 1) {
          if (skip > 0) {
            const step = Math.min(skip, length - at);
            skip -= step;
            at += step - 1;
            if (skip === 0 && missing === 0) endAnswer();
            continue;
          }
          const byte = bytes[at]!;
          if (kind === 0) kind = byte;
          else if (byte === lineFeed) endLine();
          else if (kind === minus) {
            if (byte !== carriageReturn) errorText += String.fromCharCode(byte);
          } else if (byte >= digitZero && byte <= nine) number = 10 * number + byte - digitZero;
          else if (byte === minus) isNegative = true;
          lineBytes += 1;
          if (lineBytes > longestLine) throw new Error(`an answer has a line of more than ${longestLine} bytes`);
        }
      },
      unanswered: () => asked.all(),
    };
  };
}
