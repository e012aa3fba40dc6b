/** The frame of a chunk as it is sent: `chunkHead(5)`, five bytes, `chunkEnd`; at last `lastChunk`. */
import { BadMessage, type HeaderList } from './message.ts';
import { headerText } from './write-head.ts';

export const chunkEnd = '\r\n';

/** What comes before so many bytes. */
export function chunkHead(length: number): string {
  // A chunk of 0 would end the body.
  if (!(length > 0)) throw new BadMessage(500, `a chunk must have at least 1 byte, got ${length}`);
  return `${length.toString(16)}\r\n`;
}

/** What ends the body. */
export function lastChunk(trailers: HeaderList): string {
  return trailers.length === 0 ? '0\r\n\r\n' : headerText('0\r\n', trailers, [], 502);
}
