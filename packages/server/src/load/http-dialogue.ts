/** HTTP/1.1 with keep-alive and without pipelining: one request, one answer. 200 and 429 are decisions, all else is an error. */
import { AnswerHead } from './answer-head.ts';
import type { OpenDialogue } from './dialogue.ts';
import { KeyedBytes, withSomeKey } from './keyed-bytes.ts';
import type { Question } from './load-order.ts';

export function httpDialogue({ path, body }: Extract<Question, { protocol: 'http' }>, authority: string): OpenDialogue {
  const known = withSomeKey(body);
  const request = new KeyedBytes(
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: ${authority}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(known)}\r\n\r\n${known}`,
    ),
  );

  return (out, { answered }) => {
    let asked: number | undefined;
    const head = new AnswerHead();
    /** Of the body; undefined while the head is read. */
    let missingBytes: number | undefined;

    function endAnswer(): void {
      const answer = asked;
      if (answer === undefined) throw new Error('an answer came that nobody had asked for');
      const { status } = head;
      asked = undefined;
      missingBytes = undefined;
      head.begin();
      answered(answer, status === 200 || status === 429 ? undefined : `HTTP status ${status}`);
    }

    return {
      room: () => (asked === undefined ? 1 : 0),
      ask(answer, key) {
        const at = out.reserve(request.bytes.length);
        request.writeTo(out.bytes, at, key);
        asked = answer;
      },
      read(bytes, length = bytes.length) {
        let at = 0;
        if (missingBytes === undefined) {
          at = head.read(bytes, length);
          if (!head.isWhole) return;
          if (head.bodyBytes === undefined) {
            const text = bytes.toString('latin1', 0, Math.min(at, 200));
            throw new Error(`an answer must have a Content-Length here, got: ${text}`);
          }
          missingBytes = head.bodyBytes;
        }
        missingBytes -= length - at;
        if (missingBytes < 0) throw new Error('an answer is longer than it said');
        if (missingBytes === 0) endAnswer();
      },
      unanswered: () => (asked === undefined ? [] : [asked]),
    };
  };
}
