// A lean client of the Redis protocol for soaks: many commands in one write, replies counted, not parsed into objects.
import { connect } from 'node:net';

/**
 * @param {readonly (string | number)[]} parts
 * @returns {string}
 */
export function command(parts) {
  let text = `*${parts.length}\r\n`;
  for (const part of parts) text += `$${Buffer.byteLength(String(part))}\r\n${part}\r\n`;
  return text;
}

/**
 * A connection that sends texts of many commands and waits until all their replies are there. Replies are CL.THROTTLE's: five
 * integers each.
 * @param {number} port
 */
export async function throttleClient(port) {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.setNoDelay(true);
  /** @type {((replies: number[][]) => void) | undefined} */
  let resolve;
  /** @type {((error: Error) => void) | undefined} */
  let reject;
  let expected = 0;
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    const lines = text.split('\r\n');
    if (lines.length - 1 < 6 * expected && !lines.some((line) => line.startsWith('-'))) return;
    const error = lines.find((line) => line.startsWith('-'));
    text = '';
    if (error) return reject?.(new Error(error));
    const replies = Array.from({ length: expected }, (_, i) =>
      lines.slice(6 * i + 1, 6 * i + 6).map((line) => Number(line.slice(1))),
    );
    resolve?.(replies);
  });
  socket.on('error', (error) => reject?.(error));
  socket.on('close', () => reject?.(new Error('the connection was closed')));
  return {
    /**
     * @param {string} commands
     * @param {number} count
     * @returns {Promise<number[][]>}
     */
    send(commands, count) {
      expected = count;
      return new Promise((onReplies, onError) => {
        resolve = onReplies;
        reject = onError;
        socket.write(commands);
      });
    },
    end: () => socket.destroy(),
  };
}
