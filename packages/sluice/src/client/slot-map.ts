/**
 * Which node owns which slot, as some node said last. It may be wrong at any time: a node that is asked for what it does not own
 * answers MOVED, and counts nothing.
 */
import { SluiceError } from '../vocabulary/errors.ts';
import type { NodeConnection } from './node-connection.ts';
import type { Reply } from './reply-reader.ts';

export const slots = 16_384;

export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly address: string;
}

/** The ranges of a reply to CLUSTER SLOTS. A node that does not know what it is called gives no host: the one it was asked by counts. */
export function slotRanges(reply: Reply, askedHost: string): SlotRange[] {
  if (!Array.isArray(reply)) throw unreadable(reply);
  return reply.map((range) => {
    const [from, to, owner] = Array.isArray(range) ? range : [];
    const [host, port] = Array.isArray(owner) ? owner : [];
    const isRange = isSlot(from) && isSlot(to) && from <= to;
    const isOwner = (host === null || typeof host === 'string') && Number.isInteger(port);
    if (!isRange || !isOwner) throw unreadable(range ?? null);
    return { from, to, address: addressOf(host === '' || host === '?' || host === null ? askedHost : host, port) };
  });
}

export function addressOf(host: string, port: Reply | undefined): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : `${host}:${port}`;
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < slots;
}

function unreadable(reply: Reply): SluiceError {
  const text = JSON.stringify(reply).slice(0, 80);
  return new SluiceError('store-unavailable', `A node answered CLUSTER SLOTS with something unexpected: ${text}`);
}

export class SlotMap {
  /** Nobody has said anything yet. */
  isEmpty = true;
  private owners: (NodeConnection | undefined)[] = new Array(slots).fill(undefined);

  ownerOf(slot: number): NodeConnection | undefined {
    return this.owners[slot];
  }

  set(slot: number, owner: NodeConnection): void {
    if (isSlot(slot)) this.owners[slot] = owner;
  }

  replace(ranges: readonly SlotRange[], nodeAt: (address: string) => NodeConnection): void {
    const owners: (NodeConnection | undefined)[] = new Array(slots).fill(undefined);
    for (const { from, to, address } of ranges) owners.fill(nodeAt(address), from, to + 1);
    this.owners = owners;
    this.isEmpty = false;
  }

  isOwner(node: NodeConnection): boolean {
    return this.owners.includes(node);
  }
}
