// The request that everybody sends, and what has to be understood of an answer.

export const requestBytes = Buffer.from(
  'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n',
);

const lengthLine = /\r\ncontent-length: (\d+)/i;

/**
 * The status of an answer, or undefined while a part of it is missing. One is asked for at a time, so nothing follows it.
 * @param {string} text
 */
export function statusOf(text) {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const length = lengthLine.exec(text);
  const isWhole = length ? text.length === headEnd + 4 + Number(length[1]) : text.endsWith('\r\n0\r\n\r\n');
  return isWhole ? Number(text.slice(9, 12)) : undefined;
}
