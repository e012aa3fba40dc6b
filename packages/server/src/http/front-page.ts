/** What somebody sees who opens the service in a browser. */
import { version } from '../version.ts';
import type { Route } from './route.ts';
import type { Serves } from './routes.ts';

export function frontPage(routes: readonly Route[], serves: Serves): string {
  const width = Math.max(...routes.map(({ path }) => path.length));
  const lines = routes.map(
    ({ method, path, operation }) => `  ${method.padEnd(6)} ${path.padEnd(width)}  ${operation.summary}`,
  );
  // Programs ask elsewhere where the administration is alone: the service has a port for checks, and the gateway none.
  const hint = serves === 'administration' ? '' : tryIt;
  return `Sluice ${version}: a rate-limit service.\n\n${lines.join('\n')}\n${hint}`;
}

const tryIt = `
Try it:

  curl -i -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/check \\
    -d '{"policy":{"algorithm":"gcra","limit":5,"window":"1m"},"key":"me"}'
`;
