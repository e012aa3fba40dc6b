/** What somebody sees who opens the service in a browser. */
import { version } from '../version.ts';
import type { Route } from './route.ts';

export function frontPage(routes: readonly Route[]): string {
  const width = Math.max(...routes.map(({ path }) => path.length));
  const lines = routes.map(
    ({ method, path, operation }) => `  ${method.padEnd(6)} ${path.padEnd(width)}  ${operation.summary}`,
  );
  return `Sluice ${version}: a rate-limit service.\n\n${lines.join('\n')}\n${hintFor(routes)}`;
}

function hintFor(routes: readonly Route[]): string {
  if (!routes.some(({ path }) => path === '/v1/check')) return '\nChecks are on another port.\n';
  return `
Try it:

  curl -i -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/check \\
    -d '{"policy":{"algorithm":"gcra","limit":5,"window":"1m"},"key":"me"}'
`;
}
