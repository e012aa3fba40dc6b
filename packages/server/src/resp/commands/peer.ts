/** `SLUICE.PEER message`: what the nodes of a cluster say to each other (cluster/messages.ts), as JSON; the reply is JSON, too. */
import { isUtf8 } from 'node:buffer';
import type { PeerReply } from '../../cluster/messages.ts';
import { mostMessageBytes, readPeerMessage } from '../../cluster/peers/peer-text.ts';
import type { ClusterDoor } from '../../cluster/view.ts';
import type { Command } from '../command.ts';
import type { LargeCommand } from '../command-reader.ts';
import { CommandError } from '../error-reply.ts';
import type { ReplyWriter } from '../reply-writer.ts';

const name = 'sluice.peer';
// The array's head, the name and the argument's length.
const headBytes = 64;

/** A message may hold whole shards, while other requests are as short as `limits.bodyBytes` says. */
export const largePeerCommand: LargeCommand = { name, bytes: mostMessageBytes + headBytes };

export function peerCommand(cluster: Pick<ClusterDoor, 'receive'> | undefined): Command {
  return {
    name,
    arity: 2,
    summary: 'What nodes of a cluster say to each other.',
    group: 'cluster',
    run(turn) {
      if (cluster === undefined) throw new CommandError('This server is no node of a cluster.');
      const bytes = turn.buffer.subarray(turn.reader.starts[1]!, turn.reader.stops[1]!);
      if (!isUtf8(bytes)) throw new CommandError('message must be UTF-8');
      turn.reply(cluster.receive(readPeerMessage(bytes.toString())), writeReply);
    },
  };
}

function writeReply(writer: ReplyWriter, reply: PeerReply): void {
  writer.bulk(JSON.stringify(reply));
}
