import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { loopback, reservePort } from './free-port.ts';

test('ports that are reserved at once differ, and are below those that the kernel hands out', async () => {
  const reserved = await Promise.all(Array.from({ length: 200 }, reservePort));
  const ports = reserved.map(({ port }) => port);
  expect(new Set(ports).size).toBe(200);
  expect(Math.max(...ports)).toBeLessThan(32_768);
  for (const { release } of reserved) release();
});

test('a reserved port is free for a server, and can be released twice', async () => {
  const { port, release } = await reservePort();
  await new Promise<void>((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen({ port, host: loopback }, () => server.close(() => resolve()));
  });
  release();
  release();
});
