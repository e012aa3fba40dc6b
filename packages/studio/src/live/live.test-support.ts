/** Snapshots by hand, for tests. */
import type { LiveRule, LiveSnapshot } from './contract.ts';

export function ruleCounts(name: string, counts: Partial<LiveRule> = {}): LiveRule {
  return { name, isConfigured: true, allowed: 0, refused: 0, shadowRefused: 0, errors: 0, ...counts };
}

export function snapshot(atMs: number, given: Partial<LiveSnapshot> = {}): LiveSnapshot {
  return {
    kind: 'service',
    version: '0.1.0',
    atMs,
    startedAtMs: 0,
    isReady: true,
    notReadyBecause: null,
    rules: [],
    revision: { rules: 0, overrides: 0 },
    durations: { boundsMs: [1, 10], counts: [0, 0, 0], sumMs: 0 },
    topRefused: [],
    store: { type: 'memory', keys: 0, errors: 0, degraded: 0, evictedLiveKeys: 0 },
    cluster: null,
    upstreams: [],
    ...given,
  };
}
