/** Carries out an order. */
import type { AskerEvents } from './asker.ts';
import { openConnections } from './connections.ts';
import type { OpenDialogue } from './dialogue.ts';
import { grpcDialogue } from './grpc-dialogue.ts';
import { httpDialogue } from './http-dialogue.ts';
import type { LoadOrder, LoadReport } from './load-order.ts';
import { closedLoop, openLoop } from './loops.ts';
import { machinePace } from './pace.ts';
import { respDialogue } from './resp-dialogue.ts';

/** Under way on one connection in an open loop; a request that is due and finds no room waits. */
const mostInFlight = { resp: 1024, grpc: 100 };

export async function generate(order: LoadOrder): Promise<LoadReport> {
  const { host, port, connections: count, loop, durationMs, warmUpMs } = order;
  const inFlightPerConnection = loop.kind === 'closed' ? loop.inFlightPerConnection : 1;
  const inFlight = count * inFlightPerConnection;
  const dialogue = dialogueOf(order, loop.kind === 'closed' ? inFlightPerConnection : undefined);
  const nextKey = keysOf(order);
  const open = (events: AskerEvents) => openConnections(dialogue, { host, port, count, nextKey }, events);
  if (warmUpMs > 0) await closedLoop(open, machinePace, { inFlight, durationMs: warmUpMs });
  if (loop.kind === 'open') return openLoop(open, machinePace, { perSecond: loop.perSecond, durationMs });
  return closedLoop(open, machinePace, { inFlight, durationMs, requests: loop.requests });
}

function dialogueOf({ question, host, port }: LoadOrder, depth: number | undefined): OpenDialogue {
  const authority = `${host}:${port}`;
  switch (question.protocol) {
    case 'http':
      return httpDialogue(question, authority);
    case 'resp':
      return respDialogue(question, depth ?? mostInFlight.resp);
    case 'grpc':
      return grpcDialogue(question, authority, depth ?? mostInFlight.grpc);
  }
}

function keysOf({ keys, keyOrder }: LoadOrder): () => number {
  let last = -1;
  if (keyOrder === 'random') return () => Math.floor(Math.random() * keys);
  return () => {
    last = (last + 1) % keys;
    return last;
  };
}
