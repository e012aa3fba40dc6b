/** What goes over the wire at the node with most to do, all nodes up. */
import { asksAnyNode, clientFigures } from './check-cost.ts';
import type { ClusterSize } from './cluster-size.ts';
import { copyTraffic } from './copy-cost.ts';
import type { PlanFigures, StoreFigures } from './plan-figures.ts';
import type { PlanQuestion } from './plan-question.ts';

export interface NetworkNeed {
  readonly requestBytes: number;
  readonly replyBytes: number;
  readonly bytesInPerSecond: number;
  readonly bytesOutPerSecond: number;
  /** Of these, what copies take, in each direction. */
  readonly copyBytesPerSecond: number;
  readonly packetsInPerSecond: number;
}

/** What one packet carries on an Ethernet of 1500 bytes. */
const packetPayload = 1448;

interface Flow {
  readonly bytes: number;
  readonly packets: number;
}

/** So many messages per second that go out in writes of so many. */
function flow(perSecond: number, bytesEach: number, perWrite: number, packetBytes: number): Flow {
  const packets = (perSecond / perWrite) * Math.max(1, Math.ceil((bytesEach * perWrite) / packetPayload));
  return { bytes: perSecond * bytesEach + packets * packetBytes, packets };
}

export function networkNeed(
  question: PlanQuestion,
  figures: PlanFigures,
  store: StoreFigures,
  { nodes, allUp }: ClusterSize,
): NetworkNeed {
  const { client, keyBytes, packetBytes, movedRatio } = question;
  const { checksPerSecond, cost } = allUp;
  const asked = clientFigures(figures, client);
  const longer = keyBytes - figures.keyBytes;
  const requestBytes = asked.requestBytes + longer;
  const { replyBytes } = asked;
  const calls = checksPerSecond * (1 + (client === 'redis' ? movedRatio : 0));
  const requests = flow(calls, requestBytes, cost.batch, packetBytes);
  const replies = flow(calls, replyBytes, cost.batch, packetBytes);
  const between = forwarded(question, figures, checksPerSecond * (1 - 1 / nodes));
  const copies = copyFlow(question, store, nodes, checksPerSecond);
  return {
    requestBytes,
    replyBytes,
    // What is forwarded comes in as a request, goes out as one, comes in as a reply and goes out as one.
    bytesInPerSecond: requests.bytes + between.bytes + copies.bytes,
    bytesOutPerSecond: replies.bytes + between.bytes + copies.bytes,
    copyBytesPerSecond: copies.bytes,
    packetsInPerSecond: requests.packets + between.packets + copies.packets,
  };
}

function forwarded(question: PlanQuestion, figures: PlanFigures, perSecond: number): Flow {
  if (!asksAnyNode(question.client)) return { bytes: 0, packets: 0 };
  const { requestBytes, replyBytes } = clientFigures(figures, 'smart');
  const there = flow(perSecond, requestBytes + question.keyBytes - figures.keyBytes, 1, question.packetBytes);
  const back = flow(perSecond, replyBytes, 1, question.packetBytes);
  return { bytes: there.bytes + back.bytes, packets: there.packets + back.packets };
}

function copyFlow(question: PlanQuestion, store: StoreFigures, nodes: number, checksPerSecond: number): Flow {
  const { stepsPerSecond, entriesPerSecond, messagesPerSecond } = copyTraffic(question, nodes, checksPerSecond);
  if (messagesPerSecond === 0) return { bytes: 0, packets: 0 };
  const bytes =
    stepsPerSecond * (store.stepBytes + question.keyBytes - store.keyBytes) + entriesPerSecond * store.entryBytes;
  return flow(messagesPerSecond, bytes / messagesPerSecond, 1, question.packetBytes);
}
