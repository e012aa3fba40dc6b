/** What the front answers itself, to what never becomes an exchange or stops being one. */
import { Problem, problemReply } from '../../http/problem.ts';
import { BadMessage, type ResponseHead } from '../wire/message.ts';

export interface Refusal {
  readonly head: ResponseHead;
  readonly body: string;
}

export function refusalOf({ status, message }: BadMessage): Refusal {
  const detail = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  const { type, body } = problemReply(new Problem(status, detail));
  return { head: { status, headers: ['content-type', type, 'cache-control', 'no-store'] }, body };
}

/** Throws what is none: that is a mistake of ours, and not to be answered as one of the client. */
export function badMessageOf(error: unknown): BadMessage {
  if (error instanceof BadMessage) return error;
  throw error;
}

export function tooLong(bodyBytes: number): BadMessage {
  return new BadMessage(413, `a body must be at most ${bodyBytes} bytes`);
}

export const tooSlow = {
  head: () => new BadMessage(408, 'the head of the request did not arrive whole in time'),
  body: () => new BadMessage(408, 'the body of the request stopped arriving'),
};

/** The client hung up in the middle of its body. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';

  constructor() {
    super('the client left before its body was whole');
  }
}
