/** Reads all requests of a connection as a front does, whatever pieces they come in. */
import type { BodyReader } from '../exchange.ts';
import { BodyDecoder } from './body-decoder.ts';
import { findHeadEnd, headTooLarge } from './head-end.ts';
import { corpusLimits } from './malformed-corpus.test-support.ts';
import { BadMessage, type HeaderList, type ReadRequest } from './message.ts';
import { readRequest } from './read-request.ts';

export interface WholeRequest {
  readonly head: ReadRequest;
  readonly body: string;
  readonly trailers: HeaderList;
}

export interface Messages {
  readonly requests: readonly WholeRequest[];
  /** What ended it; undefined: all was read. */
  readonly fault: BadMessage | undefined;
  /** The last request has not come whole. */
  readonly isUnfinished: boolean;
}

export class CollectedBody implements BodyReader {
  text = '';
  trailers: HeaderList | undefined;
  fault: Error | undefined;
  ends = 0;

  chunk(bytes: Buffer): void {
    if (this.ends > 0) throw new Error('a chunk came behind the end');
    if (bytes.length === 0) throw new Error('a chunk was empty');
    this.text += bytes.toString('latin1');
  }

  end(trailers: HeaderList): void {
    this.ends += 1;
    this.trailers = trailers;
  }

  failed(error: Error): void {
    this.fault = error;
  }
}

export function readMessages(pieces: readonly Buffer[], limits = corpusLimits): Messages {
  const requests: WholeRequest[] = [];
  let held = Buffer.alloc(0);
  let looked = 0;
  let head: ReadRequest | undefined;
  let decoder: BodyDecoder | undefined;
  let body = new CollectedBody();
  try {
    for (const piece of pieces) {
      held = Buffer.concat([held, piece]);
      for (;;) {
        if (head === undefined || decoder === undefined) {
          const end = findHeadEnd(held, 0, looked);
          looked = held.length;
          if (end === -1 && held.length >= limits.headBytes) throw headTooLarge(held, 0, limits.headBytes);
          if (end === -1) break;
          head = readRequest(held, 0, end, limits);
          decoder = new BodyDecoder(head.framing, limits);
          body = new CollectedBody();
          held = held.subarray(end);
        }
        held = held.subarray(decoder.read(held, 0, body));
        looked = 0;
        if (!decoder.isDone) break;
        requests.push({ head, body: body.text, trailers: body.trailers! });
        head = undefined;
      }
    }
  } catch (error) {
    if (!(error instanceof BadMessage)) throw error;
    return { requests, fault: error, isUnfinished: false };
  }
  return { requests, fault: undefined, isUnfinished: head !== undefined || held.length > 0 };
}
