/**
 * A layer wraps a store and is a store. The last one is asked first:
 *
 *      layered(redis, denyCache(), degrade({ after: '20ms', to: 'closed' }))
 *
 *      limiter ──► degrade ──► denyCache ──► redis
 *
 * A layer hands `atMs` and `requestId` on as it got them. It has no `direct`: the short way of the store underneath would
 * pass the layer by.
 */
import { mustFit, type Store } from '../stores/store.ts';
import type { Mode } from '../vocabulary/answer.ts';
import { invalid } from '../vocabulary/errors.ts';

/** Any layer. */
export type Layer = (store: Store) => Store;

/** A layer that answers as the store does: at once over memory, with a promise over a remote store. */
export type ModeKeepingLayer = <M extends Mode>(store: Store<M>) => Store<M>;

/** How the outermost of the layers answers. */
export type ModeThrough<M extends Mode, Layers extends readonly Layer[]> = Layers extends readonly [
  infer First,
  ...infer Rest extends readonly Layer[],
]
  ? ModeThrough<First extends ModeKeepingLayer ? M : First extends (store: Store) => Store<infer N> ? N : Mode, Rest>
  : M;

/** Wraps a store in layers; each stands in front of what is written before it. */
export function layered<M extends Mode, const Layers extends readonly Layer[]>(
  store: Store<M>,
  ...layers: Layers
): Store<ModeThrough<M, Layers>> {
  if (store === undefined) throw invalid('store', 'a store such as memoryStore()', store);
  mustFit(store, undefined);
  let outermost: Store = store;
  for (const layer of layers) {
    if (typeof layer !== 'function') throw invalid('a layer', 'a function such as denyCache() gives', layer);
    outermost = layer(outermost);
  }
  return outermost as Store<ModeThrough<M, Layers>>;
}
