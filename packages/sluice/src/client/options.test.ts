import { expect, it } from 'vitest';
import { clusterStore } from './cluster-store.ts';
import type { ClusterStoreOptions } from './options.ts';

const node = '10.0.0.1:6380';

it.each<[options: unknown, message: string]>([
  [undefined, 'what clusterStore options is given must be an object of nodes, token, tls'],
  [{ nodes: [node], seeds: [] }, 'clusterStore options has no field "seeds"'],
  [{}, "nodes must be a list such as ['10.0.0.1:6380'], got undefined."],
  [{ nodes: [] }, "nodes must be a list such as ['10.0.0.1:6380'], got []."],
  [{ nodes: node }, 'nodes must be a list such as [\'10.0.0.1:6380\'], got "10.0.0.1:6380".'],
  [{ nodes: ['10.0.0.1'] }, 'nodes must be addresses such as \'10.0.0.1:6380\', got "10.0.0.1".'],
  [{ nodes: [':6380'] }, 'nodes must be addresses such as \'10.0.0.1:6380\', got ":6380".'],
  [{ nodes: ['host:0'] }, 'nodes must be addresses such as \'10.0.0.1:6380\', got "host:0".'],
  [{ nodes: ['host:65536'] }, 'nodes must be addresses such as \'10.0.0.1:6380\', got "host:65536".'],
  [{ nodes: [7] }, "nodes must be addresses such as '10.0.0.1:6380', got 7."],
  [{ nodes: [node], token: '' }, 'token must be a text, got "".'],
  [{ nodes: [node], tls: 'yes' }, 'tls must be true, or options of tls.connect, got "yes".'],
  [{ nodes: [node], deadline: 0 }, 'deadline must be a time above 0, got 0.'],
  [{ nodes: [node], connectTimeout: 'soon' }, 'connectTimeout must be a time above 0, got "soon".'],
  [{ nodes: [node], maxPending: 0 }, 'maxPending must be a whole number from 1 to 1000000, got 0.'],
  [{ nodes: [node], maxConnections: 1.5 }, 'maxConnections must be a whole number from 1 to 16384, got 1.5.'],
  [{ nodes: [node], clock: {} }, 'clock must be an object with now() and sleep(), got {}.'],
])('%j is refused: %s', (options, message) => {
  expect(() => clusterStore(options as ClusterStoreOptions)).toThrow(message);
});

it('connects to nobody before it is asked', () => {
  const store = clusterStore({ nodes: [node, '[::1]:6380'], tls: false });
  expect(store.stats()).toMatchObject({ connections: 0, pending: 0, refreshes: 0 });
});
