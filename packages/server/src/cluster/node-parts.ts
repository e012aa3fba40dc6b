/** What the parts of a node share: `cluster-node.ts` makes them, the others use them. */
import type { NodeEnvironment } from './environment.ts';
import type { Fences } from './fences.ts';
import type { LongWindows } from './long-windows.ts';
import type { Membership } from './membership.ts';
import type { OwnedPolicies } from './owned-policy.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { Standbys } from './replication.ts';
import type { ClusterSettings } from './settings.ts';
import type { PolicyTexts } from './wire-check.ts';

export interface NodeParts {
  readonly settings: ClusterSettings;
  readonly environment: NodeEnvironment;
  readonly fences: Fences;
  readonly policies: OwnedPolicies;
  readonly texts: PolicyTexts;
  readonly membership: Membership;
  readonly shards: OwnedShards;
  readonly standbys: Standbys;
  readonly long: LongWindows;
  /** The node has ended: whoever still waits for something gives up. */
  isStopped: boolean;
}
