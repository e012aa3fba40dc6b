import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Param,
  Res,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  type AnyOptions,
  describeMiddleware,
  type MiddlewareUnderTest,
  type Routes,
} from '../middleware/conformance.test-support.ts';
import { type NestRequest, RateLimitGuard, RateLimitModule, rateLimit } from './index.ts';
import { platforms, serve } from './nest.test-support.ts';

function routesOf({ slow }: Routes) {
  class Hello {
    hello() {
      return 'hello';
    }

    status(code: string, response: { status(code: number): { send(text: string): void } }) {
      response.status(Number(code)).send('done');
    }

    async slow() {
      await slow();
      return 'done';
    }

    throws() {
      throw new Error('as it should');
    }
  }
  const methodOf = (name: keyof Hello) => Object.getOwnPropertyDescriptor(Hello.prototype, name) as PropertyDescriptor;
  Controller()(Hello);
  Get('/hello')(Hello.prototype, 'hello', methodOf('hello'));
  Get('/status/:code')(Hello.prototype, 'status', methodOf('status'));
  Param('code')(Hello.prototype, 'status', 0);
  Res()(Hello.prototype, 'status', 1);
  Get('/slow')(Hello.prototype, 'slow', methodOf('slow'));
  Get('/throws')(Hello.prototype, 'throws', methodOf('throws'));
  return Hello;
}

class Teapot extends HttpException {}

/** Nest answers in JSON; what else is to be answered is a filter's. */
@Catch(Teapot)
class TeapotFilter implements ExceptionFilter {
  catch(exception: Teapot, host: ArgumentsHost) {
    host.switchToHttp().getResponse().status(exception.getStatus()).send(exception.message);
  }
}

const common: Pick<MiddlewareUnderTest, 'header' | 'teapot' | 'throwsTeapot'> = {
  header: ({ headers }: NestRequest, name) => headers[name] as string | undefined,
  teapot: () => new Teapot('slow down', 418),
  throwsTeapot() {
    throw new HttpException('slow down', 418);
  },
};

for (const [platform, adapter] of platforms) {
  describeMiddleware(`Nest on ${platform}`, {
    ...common,
    start: (options: AnyOptions, routes) =>
      serve(
        adapter,
        {
          imports: [RateLimitModule.forRoot(options as never)],
          controllers: [routesOf(routes)],
          providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
        },
        (app) => app.useGlobalFilters(new TeapotFilter()),
      ),
  });

  describeMiddleware(`Nest on ${platform}, as a guard without a module`, {
    ...common,
    start: (options: AnyOptions, routes) =>
      serve(adapter, { controllers: [routesOf(routes)] }, (app) =>
        app.useGlobalGuards(rateLimit(options as never)).useGlobalFilters(new TeapotFilter()),
      ),
  });
}
