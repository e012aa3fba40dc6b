/** A fetch-style handler on Node, over real HTTP. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { StartedApp } from '../middleware/conformance.test-support.ts';

export async function serve(
  fetch: (request: Request, env: never) => Response | Promise<Response>,
): Promise<StartedApp> {
  const server = createAdaptorServer({ fetch: fetch as (request: Request) => Promise<Response> }) as Server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
