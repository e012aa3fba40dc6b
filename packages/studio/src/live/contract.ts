/** What a service says of itself. Types alone: nothing of the server gets into the page. */
export type {
  LiveCluster,
  LiveMember,
  LiveRule,
  LiveSnapshot,
  LiveStore,
  LiveUpstream,
  LiveUpstreamMember,
} from 'sluice-server';
