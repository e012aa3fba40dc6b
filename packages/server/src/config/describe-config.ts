/** What a configuration amounts to: every setting by its name in the file, and the whole in words. Secrets are in neither. */
import { doorText } from './address-text.ts';
import type { Config } from './config.ts';
import { describeGateway, gatewaySettings } from './describe-gateway.ts';
import { shownSecretsOfStore, storeSettings, storeWords } from './describe-store.ts';
import { numberWords, ruleWords } from './policy-words.ts';
import { hidden, withoutCredentials } from './secrets.ts';

/**
 * Every setting but the rules, by its name in the file, with the value that is in force. Secrets are as they are: this is for
 * comparing; `shownSettings` is for showing.
 */
export function effectiveSettings(config: Config): Record<string, unknown> {
  const { store, listen, security, limits, snapshot, envoy, tracing } = config;
  const settings: Record<string, unknown> = {
    allow: config.allow,
    deny: config.deny,
    ipv6Subnet: config.ipv6Subnet,
    ...storeSettings(store),
    'listen.http': doorText(listen.http),
    'listen.grpc': doorText(listen.grpc),
    'listen.resp': doorText(listen.resp),
    'listen.admin': doorText(listen.admin),
    'security.tokens': security.tokens,
    'security.tls.certificate': security.tls?.certificate,
    'security.tls.key': security.tls?.key,
    'security.tls.clientAuthority': security.tls?.clientAuthority,
    'limits.bodyBytes': limits.bodyBytes,
    'limits.keyBytes': limits.keyBytes,
    'limits.batchItems': limits.batchItems,
    'limits.connections': limits.connections,
    'limits.pipelineDepth': limits.pipelineDepth,
    'limits.idle': limits.idleMs,
    'limits.request': limits.requestMs,
    workers: config.workers,
    'snapshot.path': snapshot?.path,
    'snapshot.every': snapshot?.everyMs,
    'envoy.directory': envoy?.directory,
    'envoy.mergeDomains': envoy?.mergeDomains,
    'envoy.responseHeaders': envoy?.responseHeaders,
    'logs.level': config.logs.level,
    'tracing.endpoint': tracing?.endpoint,
    'tracing.sampleRatio': tracing?.sampleRatio,
    'tracing.serviceName': tracing?.serviceName,
    drain: config.drainMs,
    studio: config.studio,
    ...gatewaySettings(config.gateway),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

export function shownSettings(config: Config): Record<string, unknown> {
  const settings = effectiveSettings(config);
  settings['security.tokens'] = config.security.tokens.map(() => hidden);
  Object.assign(settings, shownSecretsOfStore(config.store));
  if (config.tracing) settings['tracing.endpoint'] = withoutCredentials(config.tracing.endpoint);
  return settings;
}

/** For people, a line each. */
export function describeConfig(config: Config): string[] {
  const { store, listen, security, snapshot, envoy, tracing } = config;
  const lines = config.rules.length === 0 ? ['No rules: only policies that come with a request.'] : ['Rules'];
  for (const rule of config.rules) {
    const [head = '', ...tiers] = ruleWords(rule);
    lines.push(`  ${rule.name}: ${head}`, ...tiers.map((tier) => `    ${tier}`));
  }
  if (config.allow.length > 0) lines.push(`  always pass: ${count(config.allow.length, 'match', 'matches')}`);
  if (config.deny.length > 0) lines.push(`  never pass: ${count(config.deny.length, 'match', 'matches')}`);
  if (envoy) lines.push(`  and the Envoy descriptors in ${envoy.directory}`);

  lines.push('Doors');
  const doors = { HTTP: listen.http, gRPC: listen.grpc, RESP: listen.resp, admin: listen.admin };
  for (const [name, address] of Object.entries(doors)) {
    if (address !== undefined || name !== 'admin') lines.push(`  ${name.padEnd(5)} ${doorText(address) || 'closed'}`);
  }
  const guards = [
    security.tokens.length > 0 &&
      (security.tokens.length === 1 ? 'the token' : `one of ${security.tokens.length} tokens`),
    security.tls?.clientAuthority !== undefined && 'a client certificate',
  ].filter((guard) => guard !== false);
  lines.push(
    `  ${security.tls ? 'TLS' : 'no TLS'}, ${guards.length > 0 ? `clients need ${guards.join(' and ')}` : 'no token is asked for'}`,
  );

  lines.push(`Store: ${storeWords(store, snapshot)}`, `Workers: ${config.workers}`);
  if (tracing)
    lines.push(
      `Traces: ${withoutCredentials(tracing.endpoint)}, ${numberWords(tracing.sampleRatio * 100)}% of requests`,
    );
  if (config.gateway) lines.push(...describeGateway(config.gateway, config.rules));
  return lines;
}

function count(howMany: number, noun: string, nouns = `${noun}s`): string {
  return `${howMany} ${howMany === 1 ? noun : nouns}`;
}
