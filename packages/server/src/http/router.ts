/**
 * From a request's method and target to its route. Paths without parameters are looked up; those with some are compared part by part.
 * Parts are split before they are decoded, so that a key may hold an encoded slash.
 */
import { percentDecoded } from './percent-decoded.ts';
import { Problem, shown } from './problem.ts';
import type { Route } from './route.ts';
import { everyRoute, routesOf, type Serves } from './routes.ts';
import type { Site } from './site.ts';

export interface Found {
  readonly route: Route;
  readonly parameters: readonly string[];
  readonly query: string;
}

export interface Router {
  /** The route, or the list for `Allow` where only the method is wrong. Throws a problem where there is neither. */
  find(method: string, target: string): Found | { readonly allow: string };
}

type ByMethod = Readonly<Partial<Record<string, Route>>>;

interface Place {
  readonly parts: readonly string[];
  readonly byMethod: ByMethod;
}

const none: readonly string[] = [];

export function router(serves: Serves, keyBytes: number, site?: Site): Router {
  const places = placesOf(routesOf(serves, site));
  const elsewhere = placesOf(everyRoute);
  const plain = new Map([...places].filter(([path]) => !path.includes('{')));
  const withParameters = [...places].filter(([path]) => path.includes('{')).map(([, place]) => place);

  function find(method: string, target: string): Found | { readonly allow: string } {
    if (target === '*' && method === 'OPTIONS') return { allow: 'DELETE, GET, HEAD, OPTIONS, POST, PUT' };
    const { path, query } = split(target);
    const parts = path.split('/');
    const place = plain.get(path) ?? withParameters.find((one) => matches(one.parts, parts));
    if (place === undefined) throw notFound(path, parts);
    // Whoever may GET may ask for the head alone.
    const route = place.byMethod[method === 'HEAD' ? 'GET' : method];
    if (route === undefined) return { allow: allowOf(place.byMethod) };
    const parameters = path === route.path ? none : parametersOf(place.parts, parts, keyBytes);
    return { route, parameters, query };
  }

  function notFound(path: string, parts: readonly string[]): Problem {
    const isElsewhere = [...elsewhere.values()].some((one) => matches(one.parts, parts));
    if (isElsewhere) {
      const where =
        serves === 'checks'
          ? 'The administration of this service has a port of its own.'
          : 'Envoy is answered by `sluice serve`, at the port for checks.';
      return new Problem(404, `${shown(path)} is not here. ${where}`);
    }
    return new Problem(
      404,
      `There is nothing at ${shown(path)}. GET / lists what there is. A slash in a rule or key is written %2F, and a key of dots is given as ?key=.`,
    );
  }

  return { find };
}

function placesOf(routes: readonly Route[]): ReadonlyMap<string, Place> {
  const places = new Map<string, { parts: readonly string[]; byMethod: Record<string, Route> }>();
  for (const route of routes) {
    const place = places.get(route.path) ?? { parts: route.path.split('/'), byMethod: Object.create(null) };
    place.byMethod[route.method] = route;
    places.set(route.path, place);
  }
  return places;
}

function allowOf(byMethod: ByMethod): string {
  const methods = Object.keys(byMethod);
  return [...methods, ...(byMethod.GET ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ');
}

/** Path and query of a target, which proxies may send with the scheme and the host. */
function split(target: string): { path: string; query: string } {
  const relative = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
  const [beforeFragment = ''] = relative.split('#', 1);
  const question = beforeFragment.indexOf('?');
  if (question < 0) return { path: beforeFragment || '/', query: '' };
  return { path: beforeFragment.slice(0, question) || '/', query: beforeFragment.slice(question + 1) };
}

function matches(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, i) => (part.startsWith('{') ? parts[i] !== '' : part === parts[i]))
  );
}

function parametersOf(pattern: readonly string[], parts: readonly string[], keyBytes: number): string[] {
  return pattern.flatMap((part, i) =>
    part.startsWith('{')
      ? [percentDecoded(parts[i] as string, { name: part.slice(1, -1), place: 'path', keyBytes })]
      : [],
  );
}
