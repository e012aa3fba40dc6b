// Tenants by how much they had: the least is served next, and is put back where it belongs then. Three ways to keep them in order.
import { IndexedHeap } from '../../../packages/sluice/dist/balance/indexed-heap.js';
import { requirePeer } from '../http/contender.mjs';
import { SkipList } from './skip-list.mjs';

/**
 * @typedef {{ id: number, runtime: number, heapIndex: number }} Tenant
 * @typedef {{ add(tenant: Tenant): void, first(): Tenant, charge(tenant: Tenant, runtime: number): void }} OrderedSet
 */

/** @param {Tenant} a @param {Tenant} b */
const compare = (a, b) => a.runtime - b.runtime || a.id - b.id;

/** @type {Record<string, () => OrderedSet>} */
export const orderedSets = {
  'indexed heap': () => {
    const heap = new IndexedHeap((/** @type {Tenant} */ a, /** @type {Tenant} */ b) => compare(a, b) < 0);
    return {
      add: (tenant) => heap.push(tenant),
      first: () => /** @type {Tenant} */ (heap.first),
      charge(tenant, runtime) {
        tenant.runtime += runtime;
        heap.moved(tenant);
      },
    };
  },
  'red-black tree': () => {
    const { RBTree } = requirePeer('bintrees');
    const tree = new RBTree(compare);
    return putBack({
      add: (tenant) => tree.insert(tenant),
      first: () => tree.min(),
      remove: (tenant) => tree.remove(tenant),
    });
  },
  'skip list': () => {
    const list = new SkipList(compare);
    return putBack({
      add: (tenant) => list.add(tenant),
      first: () => list.first,
      remove: (tenant) => list.remove(tenant),
    });
  },
};

/**
 * What is ordered by a number cannot keep its place while the number changes.
 * @param {{ add(tenant: Tenant): void, first(): Tenant, remove(tenant: Tenant): void }} set
 * @returns {OrderedSet}
 */
function putBack({ add, first, remove }) {
  return {
    add,
    first,
    charge(tenant, runtime) {
      remove(tenant);
      tenant.runtime += runtime;
      add(tenant);
    },
  };
}
