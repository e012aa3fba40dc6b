/** How many bytes a check is on the wire: asked of a running service by the dialogues of the load generator. */

import { once } from 'node:events';
import { connect } from 'node:net';
import type { OpenDialogue } from '../../load/dialogue.ts';
import { Outgoing } from '../../load/outgoing.ts';

export interface WireBytes {
  readonly requestBytes: number;
  readonly replyBytes: number;
}

const asked = 50;
/** What a connection says once, at its beginning, is no part of a check. */
const notCounted = 10;

export async function wireBytes(openDialogue: OpenDialogue, host: string, port: number): Promise<WireBytes> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  const out = new Outgoing();
  let sentBytes = 0;
  let readBytes = 0;
  let problem: string | undefined;
  let isAnswered: (() => void) | undefined;
  const dialogue = openDialogue(out, {
    answered(_, trouble) {
      problem ??= trouble;
      isAnswered?.();
    },
  });
  socket.on('data', (chunk) => {
    readBytes += chunk.length;
    dialogue.read(chunk);
    // A dialogue may have something of its own to say.
    send();
  });
  function send(): void {
    if (out.length === 0) return;
    sentBytes += out.length;
    socket.write(out.take());
  }
  const failed = once(socket, 'close').then(() => {
    throw new Error('the service closed the connection');
  });
  try {
    for (let i = 0; i < asked; i += 1) {
      if (i === notCounted) sentBytes = readBytes = 0;
      const answer = new Promise<void>((resolve) => {
        isAnswered = resolve;
      });
      dialogue.ask(i, i);
      send();
      await Promise.race([answer, failed]);
      if (problem !== undefined) throw new Error(`The service did not decide: ${problem}`);
    }
  } finally {
    failed.catch(() => {}); // It is closed here, on purpose.
    socket.destroy();
  }
  const counted = asked - notCounted;
  return { requestBytes: sentBytes / counted, replyBytes: readBytes / counted };
}
