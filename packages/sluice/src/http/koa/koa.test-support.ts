import type { AddressInfo } from 'node:net';
import type Koa from 'koa';
import type { StartedApp } from '../middleware/conformance.test-support.ts';

export async function listen(app: Koa): Promise<StartedApp> {
  // Koa prints what handlers throw, unless told not to.
  app.silent = true;
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
