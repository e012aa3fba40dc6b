/**
 * A slot moves while clients use it, in the steps that redis-cli takes:
 *
 *   importing, migrating | keys one batch after another          | the new owner is announced
 *   begin                | moveKeys: who asks for a moved key    | finish: who still asks the old owner
 *                        |           at the old owner meets ASK  |         meets MOVED
 */
import type { ClusterNode } from './cluster-formation.ts';

export interface SlotMove {
  /** Moves up to so many keys, by default all that are left. Gives how many were moved. */
  moveKeys(most?: number): Promise<number>;
  /** Gives the slot to its new owner. Every key must have been moved. */
  finish(): Promise<void>;
}

export interface SlotMoveOptions {
  readonly slot: number;
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  /** Everybody who shall learn at once; replicas and others hear of it on the bus. */
  readonly nodes: readonly ClusterNode[];
}

const keysPerBatch = 100;
const migrateTimeoutMs = 5000;

export async function beginSlotMove({ slot, from, to, nodes }: SlotMoveOptions): Promise<SlotMove> {
  // The new owner first: a key that is sent away before the other side takes it in would be asked for in vain.
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);

  return {
    async moveKeys(most = Number.POSITIVE_INFINITY) {
      let moved = 0;
      while (moved < most) {
        const batch = Math.min(keysPerBatch, most - moved);
        const keys = await from.call<string[]>('CLUSTER', 'GETKEYSINSLOT', slot, batch);
        if (keys.length === 0) break;
        await from.call('MIGRATE', to.host, to.port, '', 0, migrateTimeoutMs, 'KEYS', ...keys);
        moved += keys.length;
      }
      return moved;
    },
    async finish() {
      // Again the new owner first: if the old one gave up the slot before, nobody would have it for a moment.
      for (const node of [to, from]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
      for (const node of nodes) {
        if (node !== to && node !== from && (await isPrimaryNow(node))) {
          await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
        }
      }
    },
  };
}

async function isPrimaryNow(node: ClusterNode): Promise<boolean> {
  const [role] = await node.call<string[]>('ROLE');
  return role === 'master';
}
