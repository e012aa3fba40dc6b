/**
 * Which rules apply on which route, said in the words of the rules themselves: a rule that not every route names gets a `match` on
 * `route`. So one set of rules serves all routes, with one state, and everything that can be asked of it (overrides, keys, counts).
 *
 * What they match is spelled as requests are here. Hosts are the same in any case; a rule for `API.example` that holds for nobody would
 * be a limit that is not there.
 */
import { type Match, type Rule, rules } from 'sluice';
import type { RouteConfig } from '../config/gateway-config.ts';

export function rulesOfRoutes(list: readonly Rule[], routes: readonly RouteConfig[]): readonly Rule[] {
  return list.map(asSpelled).map((rule) => {
    const own = routes.filter((route) => route.rules === undefined || route.rules.includes(rule.name));
    if (own.length === routes.length) return rule;
    return { ...rule, match: onRoutes(rule, own) };
  });
}

const spellings: Readonly<Record<string, (pattern: string) => string>> = {
  host: (pattern) => pattern.toLowerCase().replace(/\.$/, ''),
  method: (pattern) => pattern.toUpperCase(),
};

/** As routes have it too. */
export function spelled(match: Match): Match {
  if (typeof match === 'function') return match;
  return Object.fromEntries(
    Object.entries(match).map(([field, patterns]) => {
      const spell = Object.hasOwn(spellings, field) ? spellings[field]! : String;
      return [field, [patterns].flat().map((pattern) => spell(String(pattern)))];
    }),
  );
}

function asSpelled(rule: Rule): Rule {
  const { match, skip } = rule;
  return { ...rule, ...(match && { match: spelled(match) }), ...(skip && { skip: spelled(skip) }) };
}

function onRoutes(rule: Rule, routes: readonly RouteConfig[]): Match {
  const { match = {} } = rule;
  // Rules of a file are data; only code has functions.
  if (typeof match === 'function')
    return (subject) => match(subject) && routes.some(({ name }) => name === subject.route);
  const { route: patterns, ...others } = match as Readonly<Record<string, string | readonly string[]>>;
  const names = routes.map(({ name }) => name);
  const both = patterns === undefined ? names : names.filter(matchesRoute(rule, patterns));
  // A list of nothing matches nothing.
  return { ...others, route: both };
}

/** The rule's own `match: { route }`, asked as the library asks it. */
function matchesRoute(rule: Rule, patterns: string | readonly string[]): (name: string) => boolean {
  const asked = rules([{ ...rule, key: 'all', match: { route: patterns } }]);
  return (route) => asked.keyOf(rule.name, { route }) !== undefined;
}
