/**
 * `SLUICE.PEER message [bytes]`: what the nodes of a cluster say to each other (cluster/messages.ts), as JSON, with some messages bytes beside it; the
 * reply is JSON, too.
 */
import { isUtf8 } from 'node:buffer';
import type { PeerReply } from '../../cluster/messages.ts';
import { mostMessageBytes, readPeerMessage } from '../../cluster/peers/peer-text.ts';
import type { ClusterDoor } from '../../cluster/view.ts';
import type { Command } from '../command.ts';
import type { LargeCommand } from '../command-reader.ts';
import { CommandError, wrongArity } from '../error-reply.ts';
import type { ReplyWriter } from '../reply-writer.ts';
import type { Turn } from '../turn.ts';

const name = 'sluice.peer';
// With its name.
const mostArguments = 3;
// The array's head, the name and the arguments' lengths.
const headBytes = 96;

/** A message may hold whole shards, while other requests are as short as `limits.bodyBytes` says. */
export const largePeerCommand: LargeCommand = { name, bytes: mostMessageBytes + headBytes };

export function peerCommand(cluster: Pick<ClusterDoor, 'receive'> | undefined): Command {
  return {
    name,
    arity: -2,
    summary: 'What nodes of a cluster say to each other.',
    group: 'cluster',
    run(turn) {
      if (cluster === undefined) throw new CommandError('This server is no node of a cluster.');
      if (turn.reader.count > mostArguments) throw wrongArity(name);
      const message = argument(turn, 1);
      if (!isUtf8(message)) throw new CommandError('message must be UTF-8');
      const text = message.toString();
      // Where they lie: they are read before the next command comes into the buffer.
      const written = turn.reader.count > 2 ? { text, bytes: argument(turn, 2) } : { text };
      turn.reply(cluster.receive(readPeerMessage(written)), writeReply);
    },
  };
}

function argument({ buffer, reader }: Turn, at: number): Buffer {
  return buffer.subarray(reader.starts[at]!, reader.stops[at]!);
}

function writeReply(writer: ReplyWriter, reply: PeerReply): void {
  writer.bulk(JSON.stringify(reply));
}
