/** What the store of a configuration amounts to: its settings by their names in the file, and in words. */
import type { OwnedStoreConfig, SnapshotConfig, StoreConfig } from './config.ts';
import { durationWords, numberWords } from './policy-words.ts';
import { hidden, withoutCredentials } from './secrets.ts';

/** With secrets, for comparing. */
export function storeSettings(store: StoreConfig): Record<string, unknown> {
  return { 'store.type': store.type, ...fieldsOf(store) };
}

/** Those of the settings that are secret, as they may be shown. */
export function shownSecretsOfStore(store: StoreConfig): Record<string, unknown> {
  if (store.type === 'redis') return { 'store.url': withoutCredentials(store.url) };
  if (store.type === 'owned' && store.etcd.password !== undefined) return { 'store.etcdPassword': hidden };
  if (store.type === 'cluster' && store.token !== undefined) return { 'store.token': hidden };
  return {};
}

function fieldsOf(store: StoreConfig): Record<string, unknown> {
  switch (store.type) {
    case 'memory':
      return { 'store.maxKeys': store.maxKeys };
    case 'redis':
      return {
        'store.url': store.url,
        'store.prefix': store.prefix,
        'store.cluster': store.isCluster,
        'store.fenced': store.isFenced,
        'store.timeout': store.timeoutMs,
        'store.onFailure': store.onFailure,
      };
    case 'owned':
      return ownedFields(store);
    case 'cluster':
      return {
        'store.nodes': store.nodes,
        'store.nodesTls': store.isTls,
        'store.token': store.token,
        'store.deadline': store.deadlineMs,
        'store.onFailure': store.onFailure,
      };
  }
}

function ownedFields({ etcd, settings, advertise, onFailure }: OwnedStoreConfig): Record<string, unknown> {
  return {
    'store.etcd': etcd.endpoints,
    'store.etcdUsername': etcd.username,
    'store.etcdPassword': etcd.password,
    'store.etcdTls.authority': etcd.tls?.authority,
    'store.etcdTls.certificate': etcd.tls?.certificate,
    'store.etcdTls.key': etcd.tls?.key,
    'store.clusterName': settings.name,
    'store.advertise': advertise,
    'store.ttl': settings.ttlMs,
    'store.grace': settings.shared.graceMs,
    'store.unreplicated': settings.shared.unreplicated,
    'store.shards': settings.shared.shards,
    'store.durableFrom': settings.shared.durableFromMs,
    'store.durableKeys': settings.durableKeys,
    'store.maxKeys': settings.maxKeys,
    'store.patience': settings.patienceMs,
    'store.onFailure': onFailure,
  };
}

/** After `Store: `. */
export function storeWords(store: StoreConfig, snapshot: SnapshotConfig | undefined): string {
  switch (store.type) {
    case 'memory':
      return `memory, at most ${numberWords(store.maxKeys)} keys${snapshot ? `, kept in ${snapshot.path}` : ''}`;
    case 'redis':
      return `Redis at ${withoutCredentials(store.url)}, answers within ${durationWords(store.timeoutMs)}, else ${store.onFailure}`;
    case 'owned':
      return `a node of cluster ${ownedWords(store)}`;
    case 'cluster':
      return `the cluster of ${store.nodes.join(', ')}${store.isTls ? ' by TLS' : ''}, answers within ${durationWords(store.deadlineMs)}, else ${store.onFailure}`;
  }
}

function ownedWords({ etcd, settings, advertise, onFailure }: OwnedStoreConfig): string {
  const { unreplicated, durableFromMs } = settings.shared;
  const copies = unreplicated === 0 ? 'no copies' : `copies at most ${numberWords(unreplicated)} behind`;
  return [
    `${settings.name} by etcd at ${etcd.endpoints.join(', ')}`,
    `reached as ${advertise}`,
    `at most ${numberWords(settings.maxKeys)} keys`,
    copies,
    `windows from ${durationWords(durableFromMs)} in etcd`,
    `answers within ${durationWords(settings.patienceMs)}`,
    `else ${onFailure}`,
  ].join(', ');
}
