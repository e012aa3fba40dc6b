/** The service as a library: what tests and programs that start it themselves need. */
export type { Config } from './config/config.ts';
export { type ReadConfigOptions, type ReadConfigResult, readConfig } from './config/read-config.ts';
export type {
  LiveCluster,
  LiveDurations,
  LiveMember,
  LiveRevision,
  LiveRule,
  LiveSnapshot,
  LiveStore,
  LiveUpstream,
  LiveUpstreamMember,
} from './operations/live-snapshot.ts';
export { type RunningService, type StartOptions, startService } from './serve/start-service.ts';
