/** What is wrong with routes beyond their form: names that nothing has, patterns that nothing matches, routes that are never reached. */
import { covers } from '../gateway/routes/glob.ts';
import { noRoute } from '../gateway/routes/no-route.ts';
import { routePath } from '../gateway/routes/route-path.ts';
import { isMap, listIn, mapIn } from './any-data.ts';
import type { Data } from './build-values.ts';
import type { GatewayNames } from './gateway-problems.ts';
import { noSuch } from './nearest-name.ts';
import { type Path, showValue } from './problem.ts';
import type { ProblemList } from './problem-list.ts';
import { token } from './source-schema.ts';

export function routeProblems(gateway: Data, names: GatewayNames, list: ProblemList): void {
  const routes = listIn(gateway.routes);
  if (routes.length === 0 && names.upstreams.length > 1 && !list.has('gateway', 'routes'))
    list.add(
      ['gateway', 'routes'],
      `is missing; with ${names.upstreams.length} upstreams it must say which requests go to which.`,
    );
  const firstOf = new Map<string, number>();
  for (const [i, route] of routes.entries()) {
    if (!isMap(route)) continue;
    const at: Path = ['gateway', 'routes', i];
    nameProblem([...at, 'name'], route.name, i, firstOf, list);
    referenceProblems(at, route, names, list);
    pathProblems(at, route, list);
    for (const name of Object.keys(mapIn(mapIn(route.match).headers))) {
      if (!headerName.test(name))
        list.add([...at, 'match', 'headers', name], 'is no name of a header, such as x-beta.', 'name');
    }
  }
  reachProblems(routes, list);
}

const headerName = new RegExp(`^${token}$`);

function nameProblem(path: Path, name: unknown, i: number, firstOf: Map<string, number>, list: ProblemList): void {
  if (typeof name !== 'string') return;
  if (name === noRoute)
    list.add(path, `is ${showValue(name)}, which metrics call requests that no route takes. Choose another name.`);
  const first = firstOf.get(name);
  if (first === undefined) firstOf.set(name, i);
  else
    list.add(
      path,
      `is ${showValue(name)}, as gateway.routes[${first}].name is. Metrics go by the name: give each route its own.`,
    );
}

function referenceProblems(at: Path, route: Data, names: GatewayNames, list: ProblemList): void {
  const { upstream, admission } = route;
  if (upstream === undefined && names.upstreams.length > 1)
    list.add([...at, 'upstream'], `is missing; it must be one of ${names.upstreams.join(', ')}.`);
  if (typeof upstream === 'string' && !names.upstreams.includes(upstream))
    list.add([...at, 'upstream'], `is ${showValue(upstream)}, ${noSuch('upstream', upstream, names.upstreams)}`);
  if (typeof admission === 'string' && !names.admissions.includes(admission))
    list.add([...at, 'admission'], `is ${showValue(admission)}, ${noSuch('admission', admission, names.admissions)}`);
  if (Object.hasOwn(route, 'priority') && admission === undefined)
    list.add([...at, 'priority'], 'means nothing without admission: where nobody waits, nobody goes first.', 'name');
  for (const [i, rule] of [route.rules].flat().entries()) {
    const path = [...at, 'rules', ...(Array.isArray(route.rules) ? [i] : [])];
    if (typeof rule === 'string') ruleProblem(path, rule, names, list);
  }
}

function ruleProblem(path: Path, name: string, { rules, fields }: GatewayNames, list: ProblemList): void {
  const rule = rules.get(name);
  if (rule === undefined) {
    list.add(path, `is ${showValue(name)}, ${noSuch('rule', name, [...rules.keys()])}`);
    return;
  }
  // A subject without the field is not limited: the rule that was asked for by name would never hold.
  for (const field of [rule.key ?? []].flat()) {
    if (typeof field !== 'string' || field === 'all' || fields.includes(field)) continue;
    list.add(
      path,
      `is ${showValue(name)}, whose key is ${field}, and no request has that field. Say where it comes from, such as gateway.identify.${field}: header:x-${field}.`,
    );
  }
}

function pathProblems(at: Path, route: Data, list: ProblemList): void {
  const { path } = mapIn(route.match);
  const prefix = list.has(...at, 'stripPrefix') ? undefined : route.stripPrefix;
  for (const [i, pattern] of [path].flat().entries()) {
    const place = [...at, 'match', 'path', ...(Array.isArray(path) ? [i] : [])];
    if (typeof pattern !== 'string' || list.has(...place)) continue;
    const plain = routePath(pattern);
    // What begins with a star may go on with anything.
    if (pattern.startsWith('/') && plain !== pattern)
      list.add(
        place,
        `is never matched: paths are decoded and their steps back taken first. Write ${showValue(plain)}.`,
      );
    else if (typeof prefix === 'string' && !canBegin(pattern, prefix))
      list.add([...at, 'stripPrefix'], `is ${showValue(prefix)}, which ${showValue(pattern)} does not begin with.`);
  }
}

function canBegin(pattern: string, prefix: string): boolean {
  const [fixed = ''] = pattern.split('*');
  return pattern === prefix || `${fixed}/`.startsWith(`${prefix}/`) || (pattern !== fixed && prefix.startsWith(fixed));
}

/** A route that an earlier one leaves nothing is a slip: in the order, or in a pattern. */
function reachProblems(routes: readonly unknown[], list: ProblemList): void {
  for (const [i, route] of routes.entries()) {
    const at: Path = ['gateway', 'routes', i];
    if (!isMap(route) || list.has(...at, 'match')) continue;
    const before = routes.findIndex(
      (other, j) => j < i && isMap(other) && !list.has('gateway', 'routes', j, 'match') && leavesNothing(other, route),
    );
    if (before >= 0)
      list.add(
        at,
        `is never taken: gateway.routes[${before}] comes before it and matches all that it does. Put the narrower one first.`,
      );
  }
}

function leavesNothing(earlier: Data, later: Data): boolean {
  const [wide, narrow] = [mapIn(earlier.match), mapIn(later.match)];
  const isCovered = (field: string, spell: (text: string) => string) => {
    if (wide[field] === undefined) return true;
    const outer = [wide[field]].flat().map((text) => spell(String(text)));
    const inner = narrow[field] === undefined ? ['*'] : [narrow[field]].flat().map((text) => spell(String(text)));
    return inner.every((pattern) => outer.some((one) => covers(one, pattern)));
  };
  const wanted = lowerCased(mapIn(narrow.headers));
  return (
    isCovered('host', (text) => text.toLowerCase()) &&
    isCovered('path', (text) => text) &&
    isCovered('method', (text) => text.toUpperCase()) &&
    Object.entries(lowerCased(mapIn(wide.headers))).every(
      ([name, pattern]) => wanted[name] !== undefined && covers(pattern, wanted[name]),
    )
  );
}

function lowerCased(headers: Data): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
