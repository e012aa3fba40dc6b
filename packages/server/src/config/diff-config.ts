/** What a reload changes, and what it cannot. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { effectiveSettings } from './describe-config.ts';

export interface ConfigDiff {
  /** Names of rules. */
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Settings that changed and apply at once. Names only: values may be secret. */
  readonly applied: readonly string[];
  /** Settings that changed and apply after a restart: sockets are open, threads are running, the store holds its counts. */
  readonly needsRestart: readonly string[];
}

const appliesAtOnce =
  /^(allow|deny|ipv6Subnet|envoy\..+|security\.tokens|logs\.level|gateway\.(trustProxy|identify|routes|accessLog\..+|admissions\..+|upstreams\..+))$/;

/** A listening socket can be given another certificate; whether it speaks TLS at all is settled when it is opened. */
const certificates = /^gateway\.tls\.(certificate|key)$/;

export function diffConfig(before: Config, after: Config): ConfigDiff {
  const old = new Map(before.rules.map((rule) => [rule.name, rule]));
  const kept = after.rules.filter(({ name }) => old.has(name));
  const names = new Set(after.rules.map(({ name }) => name));
  const settings = changedSettings(before, after);
  const speaksTlsStill = before.gateway?.tls !== undefined && after.gateway?.tls !== undefined;
  const isApplied = (name: string) => appliesAtOnce.test(name) || (speaksTlsStill && certificates.test(name));
  return {
    added: after.rules.filter(({ name }) => !old.has(name)).map(({ name }) => name),
    // Rules as the library read them: "1m" and 60000 say the same.
    changed: kept.filter((rule) => !isDeepStrictEqual(rule, old.get(rule.name))).map(({ name }) => name),
    removed: [...old.keys()].filter((name) => !names.has(name)),
    applied: settings.filter(isApplied),
    needsRestart: settings.filter((name) => !isApplied(name)),
  };
}

function changedSettings(before: Config, after: Config): string[] {
  const old = effectiveSettings(before);
  const fresh = effectiveSettings(after);
  const names = new Set([...Object.keys(old), ...Object.keys(fresh)]);
  return [...names].filter((name) => !isDeepStrictEqual(old[name], fresh[name]));
}
