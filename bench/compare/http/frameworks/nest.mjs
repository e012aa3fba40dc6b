// NestJS 11 on Express, and @nestjs/throttler as its own defaults are. Both limiters come as a guard of the whole application.
import { createRequire } from 'node:module';
import { RateLimitGuard, RateLimitModule } from 'sluice/nest';
import { hello, listening, requirePeer } from '../contender.mjs';

// Nest knows its own classes by identity: each limiter has to be with the copy that it imports.
const requireOwn = createRequire(import.meta.url);

/** @type {import('../contender.mjs').Framework} */
export const framework = {
  bare: () => app(requireOwn),
  sluice: (options) => app(requireOwn, RateLimitModule.forRoot(options), RateLimitGuard),
  usual({ limit, windowMs }) {
    const { ThrottlerGuard, ThrottlerModule } = requirePeer('@nestjs/throttler');
    return app(requirePeer, ThrottlerModule.forRoot([{ limit, ttl: windowMs }]), ThrottlerGuard);
  },
};

/**
 * @param {NodeJS.Require} require
 * @param {import('@nestjs/common').DynamicModule} [limits]
 * @param {import('@nestjs/common').Type} [guard]
 */
async function app(require, limits, guard) {
  mustBeOneVersion();
  require('reflect-metadata');
  const { Controller, Get, Module } = require('@nestjs/common');
  const { APP_GUARD, NestFactory } = require('@nestjs/core');

  class HelloController {
    hello() {
      return hello;
    }
  }
  Get()(HelloController.prototype, 'hello', { value: HelloController.prototype.hello });
  Controller()(HelloController);

  class AppModule {}
  Module({
    imports: limits ? [limits] : [],
    controllers: [HelloController],
    providers: guard ? [{ provide: APP_GUARD, useClass: guard }] : [],
  })(AppModule);

  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  return listening(app.getHttpServer());
}

function mustBeOneVersion() {
  for (const name of ['core', 'platform-express']) {
    const [own, theirs] = [requireOwn, requirePeer].map((require) => require(`@nestjs/${name}/package.json`).version);
    if (own !== theirs) throw new Error(`@nestjs/${name} is ${own} here and ${theirs} in bench/peers`);
  }
}
