/**
 * Which route a request takes: the first whose host, path, method and headers all match. Globs are compiled once; a request costs a few
 * comparisons of text for each route before its own.
 */
import type { RouteConfig } from '../../config/gateway-config.ts';
import type { HeaderList } from '../wire/message.ts';
import { anyGlob, type Glob, glob } from './glob.ts';

/** What routes ask about. `routeHost` and `routePath` make the first two. */
export interface RouteQuestion {
  /** Lower case, without port. */
  readonly host: string;
  /** Without query, decoded, without steps back. */
  readonly path: string;
  readonly method: string;
  readonly headers: HeaderList;
}

export function compileRoutes(routes: readonly RouteConfig[]): (request: RouteQuestion) => RouteConfig | undefined {
  const compiled = routes.map(compileRoute);
  return (request) => {
    for (const { route, matches } of compiled) if (matches(request)) return route;
    return undefined;
  };
}

function compileRoute(route: RouteConfig): {
  readonly route: RouteConfig;
  readonly matches: (request: RouteQuestion) => boolean;
} {
  const host = globOf(route.host);
  const path = globOf(route.path);
  const method = globOf(route.method);
  const headers = Object.entries(route.headers).map(([name, pattern]) => ({ name, value: glob(pattern) }));
  return {
    route,
    matches: (request) =>
      (path === undefined || path(request.path)) &&
      (host === undefined || host(request.host)) &&
      (method === undefined || method(request.method)) &&
      (headers.length === 0 || headers.every(({ name, value }) => hasHeader(request.headers, name, value))),
  };
}

function globOf(patterns: readonly string[] | undefined): Glob | undefined {
  return patterns === undefined ? undefined : anyGlob(patterns);
}

/** Of several lines of one name, one that matches is enough. */
function hasHeader(headers: HeaderList, name: string, value: Glob): boolean {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === name && value(headers[at + 1] as string)) return true;
  }
  return false;
}
