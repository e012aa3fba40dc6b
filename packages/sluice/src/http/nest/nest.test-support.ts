import 'reflect-metadata';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

export const platforms = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter({ forceCloseConnections: true })],
] as const;

export type Adapter = (typeof platforms)[number][1];

/** An application of one module, listening on a free loopback port. */
export async function serve(
  adapter: Adapter,
  metadata: ModuleMetadata,
  setUp: (app: INestApplication) => unknown = () => {},
): Promise<{ app: INestApplication; url: string; close(): Promise<void> }> {
  class Application {}
  Module(metadata)(Application);
  const app = await NestFactory.create(Application, adapter(), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  await setUp(app);
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), close: () => app.close() };
}
