/** Carries out an order. */
import { keySlot } from '../resp/key-slot.ts';
import type { AskerEvents } from './asker.ts';
import { openConnections } from './connections.ts';
import type { OpenDialogue } from './dialogue.ts';
import { grpcDialogue } from './grpc-dialogue.ts';
import { httpDialogue } from './http-dialogue.ts';
import { KeyedBytes, keyPlaceholder, withSomeKey } from './keyed-bytes.ts';
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
  if (loop.kind === 'open') {
    const { perSecond } = loop;
    // The loop itself is code, too: while it is compiled, requests are late.
    if (warmUpMs > 0) await openLoop(open, machinePace, { perSecond, durationMs: warmUpMs });
    return openLoop(open, machinePace, { perSecond, durationMs });
  }
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

function keysOf(order: LoadOrder): () => number {
  const { keyOrder } = order;
  const own = order.slots === undefined ? undefined : keysOfSlots(order, order.slots);
  const count = own?.length ?? order.keys;
  if (count === 0) throw new Error(`None of ${order.keys} keys is of these slots. Give more keys.`);
  const keyAt = (place: number): number => own?.[place] ?? place;
  let last = -1;
  if (keyOrder === 'random') return () => keyAt(Math.floor(Math.random() * count));
  return () => {
    last = (last + 1) % count;
    return keyAt(last);
  };
}

function keysOfSlots({ question, keys }: LoadOrder, slots: NonNullable<LoadOrder['slots']>): number[] {
  const text = question.protocol === 'resp' ? question.words.find((word) => word.includes(keyPlaceholder)) : undefined;
  if (text === undefined) throw new Error('Only keys of the Redis protocol have slots here.');
  const bytes = new KeyedBytes(Buffer.from(withSomeKey(text)));
  const key = Buffer.from(bytes.bytes);
  return Array.from({ length: keys }, (_, number) => number).filter((number) => {
    bytes.writeTo(key, 0, number);
    const slot = keySlot(key);
    return slots.some(([from, to]) => slot >= from && slot <= to);
  });
}
