/**
 * What stands in a file and does nothing in its gateway: a rule about what no request has, an admission that no route goes through. That is
 * no problem of the file, which may be read by a service as well, where callers say the fields themselves; but a limit that limits nobody
 * must be seen by whoever looks.
 */
import type { Rule } from 'sluice';
import { anyGlob } from '../gateway/routes/glob.ts';
import { routePath } from '../gateway/routes/route-path.ts';
import type { GatewayConfig } from './gateway-config.ts';
import { givenFields } from './source-schema.ts';

/** A line each; none: everything does something. */
export function idleSettings(gateway: GatewayConfig, rules: readonly Rule[]): string[] {
  const { admissions, routes } = gateway;
  const unused = Object.keys(admissions).filter((name) => !routes.some(({ admission }) => admission === name));
  return [
    ...rules.flatMap((rule) => whyIdle(rule, gateway).map((why) => `rule ${rule.name} limits nobody here: ${why}`)),
    ...unused.map((name) => `admission ${name} holds back nobody: no route has it`),
  ];
}

function whyIdle({ name, key = [], match = {} }: Rule, { identify, routes }: GatewayConfig): string[] {
  if (!routes.some((route) => route.rules === undefined || route.rules.includes(name))) return ['no route names it'];
  const patterns = Object.entries(typeof match === 'function' ? {} : match);
  const fields = [...(typeof key === 'function' ? [] : [key].flat()), ...patterns.map(([field]) => field)];
  const unknown = fields.filter(
    (field) => field !== 'all' && !givenFields.includes(field) && !Object.hasOwn(identify, field),
  );
  return [
    ...[...new Set(unknown)].map((field) => `gateway.identify does not say where ${field} comes from`),
    ...patterns.flatMap(([field, own]) => neverMatched(field, [own].flat().map(String), routes)),
  ];
}

function neverMatched(field: string, patterns: readonly string[], routes: GatewayConfig['routes']): string[] {
  if (field === 'route' && !routes.some(({ name }) => anyGlob(patterns)(name)))
    return [`there is no route ${patterns.join(' or ')}`];
  if (field === 'path' && patterns.every((pattern) => !pattern.startsWith('*') && routePath(pattern) !== pattern))
    return [`no path is written ${patterns.join(' or ')}: they begin with /, without a query, decoded`];
  return [];
}
