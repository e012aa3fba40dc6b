/**
 * Where in the studio somebody is: `#/playground?limit=10&window=10s`. Behind the hash, so that the same files work at the root of a service and in
 * a folder of any static host; and whole, so that an address that is passed on shows the same.
 */
import { useEffect, useState } from 'preact/hooks';

export const viewNames = ['playground', 'live', 'tuner'] as const;
export type ViewName = (typeof viewNames)[number];

export interface Route {
  readonly view: ViewName;
  readonly query: URLSearchParams;
}

/** What cannot be read is the playground: an address that was cut off still shows something. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const view = viewNames.find((name) => name === path) ?? 'playground';
  return { view, query: new URLSearchParams(query) };
}

export function routeHash(view: ViewName, query?: URLSearchParams): string {
  const text = query?.toString() ?? '';
  return `#/${view}${text === '' ? '' : `?${text}`}`;
}

/** The address says from now on what is shown. Without a new step in the history: a slider passes a hundred values. */
export function replaceQuery(view: ViewName, query: URLSearchParams): void {
  history.replaceState(null, '', routeHash(view, query));
  latest.set(view, query);
}

const latest = new Map<ViewName, URLSearchParams>();

/** Where a link to a view leads: to what was shown there last, while the tab lives; from the view itself to its beginning. */
export function linkTo(view: ViewName, from: ViewName): string {
  return routeHash(view, view === from ? undefined : latest.get(view));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(routeNow);
  useEffect(() => {
    const follow = () => setRoute(routeNow());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}

function routeNow(): Route {
  const route = parseRoute(location.hash);
  latest.set(route.view, route.query);
  return route;
}
