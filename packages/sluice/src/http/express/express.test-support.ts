/** Both versions of Express that are supported, with the types of the newer. */
import type { AddressInfo } from 'node:net';
import express5 from 'express';
import type { StartedApp } from '../middleware/conformance.test-support.ts';

type Express = typeof express5;

// @ts-expect-error: the types are of version 5 only
import express4Untyped from 'express-4';

export const versions: readonly (readonly [name: string, express: Express])[] = [
  ['Express 4', express4Untyped as Express],
  ['Express 5', express5],
];

export async function listen(app: ReturnType<Express>): Promise<StartedApp> {
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
