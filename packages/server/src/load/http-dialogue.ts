/** HTTP/1.1 with keep-alive and without pipelining: one request, one answer. 200 and 429 are decisions, all else is an error. */
import type { OpenDialogue } from './dialogue.ts';
import { KeyedBytes, withSomeKey } from './keyed-bytes.ts';
import type { Question } from './load-order.ts';

const endOfHead = '\r\n\r\n';
const mostHeadBytes = 65_536;

export function httpDialogue({ path, body }: Extract<Question, { protocol: 'http' }>, authority: string): OpenDialogue {
  const known = withSomeKey(body);
  const request = new KeyedBytes(
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: ${authority}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(known)}\r\n\r\n${known}`,
    ),
  );

  return (out, { answered }) => {
    let asked: number | undefined;
    /** The beginning of a head that is not whole. */
    let head: Buffer | undefined;
    let status = 0;
    /** Of the body; undefined while the head is read. */
    let missingBytes: number | undefined;

    function endAnswer(): void {
      const answer = asked;
      if (answer === undefined) throw new Error('an answer came that nobody had asked for');
      asked = undefined;
      missingBytes = undefined;
      answered(answer, status === 200 || status === 429 ? undefined : `HTTP status ${status}`);
    }

    return {
      room: () => (asked === undefined ? 1 : 0),
      ask(answer, key) {
        const at = out.reserve(request.bytes.length);
        request.writeTo(out.bytes, at, key);
        asked = answer;
      },
      read(chunk) {
        let bytes = chunk;
        if (missingBytes === undefined) {
          if (head !== undefined) bytes = Buffer.concat([head, chunk]);
          const end = bytes.indexOf(endOfHead);
          if (end < 0) {
            if (bytes.length > mostHeadBytes)
              throw new Error(`the head of an answer is longer than ${mostHeadBytes} bytes`);
            head = Buffer.from(bytes);
            return;
          }
          head = undefined;
          const text = bytes.toString('latin1', 0, end);
          status = Number(text.slice(9, 12));
          missingBytes = bodyBytes(text);
          bytes = bytes.subarray(end + endOfHead.length);
        }
        missingBytes -= bytes.length;
        if (missingBytes < 0) throw new Error('an answer is longer than it said');
        if (missingBytes === 0) endAnswer();
      },
      unanswered: () => (asked === undefined ? [] : [asked]),
    };
  };
}

function bodyBytes(head: string): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer must have a Content-Length here, got: ${head.slice(0, 200)}`);
  return Number(length);
}
