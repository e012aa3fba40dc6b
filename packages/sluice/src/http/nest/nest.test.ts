import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Header,
  HttpException,
  Injectable,
  type LoggerService,
  Module,
  type ModuleMetadata,
  Post,
  Scope,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { ExternalContextCreator } from '@nestjs/core/helpers/external-context-creator.js';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts';
import { leakyBucket } from '../../algorithms/leaky-bucket/leaky-bucket.ts';
import { rules } from '../../limit/rules.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import type { Store } from '../../stores/store.ts';
import { TestClock } from '../../testing/test-clock.ts';
import {
  type NestOwnOptions,
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  rateLimit,
  SkipRateLimit,
} from './index.ts';
import { platforms, serve } from './nest.test-support.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'first' });
const everywhere = { provide: APP_GUARD, useClass: RateLimitGuard };
const [[, onExpress]] = platforms;

type Served = Awaited<ReturnType<typeof serve>>;

const started: Served[] = [];
afterEach(async () => {
  for (const { close } of started.splice(0)) await close();
});

async function start(...args: Parameters<typeof serve>): Promise<Served> {
  const served = await serve(...args);
  started.push(served);
  return served;
}

/** With the guard everywhere. */
function limited(
  options: Partial<RateLimitModuleOptions>,
  metadata: ModuleMetadata,
  adapter: Parameters<typeof serve>[0] = onExpress,
) {
  const { imports = [], providers = [] } = metadata;
  const limits = RateLimitModule.forRoot({ warn: false, ...options } as RateLimitModuleOptions);
  return start(adapter, { ...metadata, imports: [limits, ...imports], providers: [everywhere, ...providers] });
}

async function statuses({ url }: Served, paths: readonly string[], init?: RequestInit): Promise<number[]> {
  const seen: number[] = [];
  for (const path of paths) seen.push((await fetch(`${url}${path}`, init)).status);
  return seen;
}

async function headerOf({ url }: Served, path: string, name = 'ratelimit'): Promise<string | null> {
  return (await fetch(`${url}${path}`)).headers.get(name);
}

@Controller('cats')
class Cats {
  @Get()
  all() {
    return 'cats';
  }

  @Get('one')
  one() {
    return 'cat';
  }
}

describe.each(platforms)('decorators on %s', (_, adapter) => {
  it('on a method are a budget of its own, named by it', async () => {
    @Controller()
    class Reports {
      @RateLimit({ policy: perMinute(1) })
      @Get('daily')
      daily() {
        return 'report';
      }

      @Get('list')
      list() {
        return 'reports';
      }
    }
    const app = await limited({ policy: perMinute(2) }, { controllers: [Reports] }, adapter);
    expect(await headerOf(app, '/daily')).toBe('"Reports.daily";r=0;t=60');
    expect(await statuses(app, ['/daily', '/list', '/list', '/list'])).toEqual([429, 200, 200, 429]);
  });

  it('on a class are one budget for all of its methods, and each method may have another', async () => {
    @RateLimit({ policy: perMinute(2) })
    @Controller()
    class Reports {
      @Get('a')
      a() {
        return 'a';
      }

      @Get('b')
      b() {
        return 'b';
      }

      @RateLimit({ policy: perMinute(1), name: 'c' })
      @Get('c')
      c() {
        return 'c';
      }

      @SkipRateLimit()
      @Get('d')
      d() {
        return 'd';
      }
    }
    const app = await limited({ policy: perMinute(1) }, { controllers: [Reports, Cats] }, adapter);
    expect(await headerOf(app, '/a')).toBe('"Reports";r=1;t=60');
    expect(await statuses(app, ['/b', '/a', '/c', '/c'])).toEqual([200, 429, 200, 429]);
    expect(await statuses(app, ['/d', '/d', '/d', '/cats', '/cats/one'])).toEqual([200, 200, 200, 200, 429]);
  });

  it('skip a class, but not what has a decorator of its own', async () => {
    @SkipRateLimit()
    @Controller()
    class Health {
      @Get('live')
      live() {
        return 'yes';
      }

      @RateLimit()
      @Get('deep')
      deep() {
        return 'yes';
      }
    }
    const app = await limited({ policy: perMinute(1) }, { controllers: [Health, Cats] }, adapter);
    expect(await statuses(app, ['/live', '/live', '/deep', '/deep', '/cats'])).toEqual([200, 200, 200, 429, 429]);
    expect(await headerOf(app, '/live')).toBeNull();
  });

  it('may name a limit of the module, which is one budget wherever it is named', async () => {
    @Controller()
    class Accounts {
      @RateLimit('writes')
      @Post('a')
      a() {
        return 'a';
      }

      @RateLimit('writes')
      @Post('b')
      b() {
        return 'b';
      }
    }
    const app = await limited(
      { policy: perMinute(9), limits: { writes: { policy: perMinute(1) }, unused: { cost: 2 } } },
      { controllers: [Accounts] },
      adapter,
    );
    expect(await statuses(app, ['/a', '/b'], { method: 'POST' })).toEqual([201, 429]);
  });

  it('may say only what is different: a cost takes more of the budget that all share', async () => {
    @Controller()
    class Reports {
      @RateLimit({ cost: 8 })
      @Get('big')
      big() {
        return 'big';
      }
    }
    const app = await limited({ policy: perMinute(10) }, { controllers: [Reports, Cats] }, adapter);
    expect(await headerOf(app, '/big')).toBe('"default";r=2;t=60');
    expect(await statuses(app, ['/cats', '/big', '/cats', '/cats'])).toEqual([200, 429, 200, 429]);
  });

  it('bring their guard where there is none for the whole', async () => {
    @Controller()
    class Reports {
      @RateLimit({ policy: perMinute(1) })
      @Get('daily')
      daily() {
        return 'report';
      }
    }
    const metadata = {
      imports: [RateLimitModule.forRoot({ global: false, warn: false })],
      controllers: [Reports, Cats],
    };
    const app = await start(adapter, metadata);
    expect(await statuses(app, ['/daily', '/daily', '/cats', '/cats'])).toEqual([200, 429, 200, 200]);
  });

  it('of a class are inherited, and each class that inherits them has a budget', async () => {
    @RateLimit({ policy: perMinute(1) })
    class Base {
      @Get()
      all() {
        return 'all';
      }
    }
    @Controller('dogs')
    class Dogs extends Base {}
    @Controller('birds')
    class Birds extends Base {}
    const app = await limited({ policy: perMinute(9) }, { controllers: [Dogs, Birds] }, adapter);
    expect(await statuses(app, ['/dogs', '/dogs', '/birds', '/birds'])).toEqual([200, 429, 200, 429]);
    expect(await headerOf(app, '/birds')).toBe('"Birds";r=0;t=60');
  });

  it('count a request once, however many guards it comes by', async () => {
    @UseGuards(RateLimitGuard)
    @RateLimit()
    @Controller()
    class Guarded {
      @UseGuards(RateLimitGuard)
      @RateLimit()
      @Get('often')
      often() {
        return 'once';
      }
    }
    const app = await limited({ policy: perMinute(9) }, { controllers: [Guarded] }, adapter);
    expect(await headerOf(app, '/often')).toBe('"default";r=8;t=60');
    expect(await headerOf(app, '/often')).toBe('"default";r=7;t=60');
  });
});

describe('what is wrong is told when the application starts', () => {
  const withOwn = (own: NestOwnOptions | string) => {
    @Controller()
    class Reports {
      @RateLimit(own)
      @Get('daily')
      daily() {
        return 'report';
      }
    }
    return Reports;
  };

  it.each<[NestOwnOptions | string, string]>([
    ['log-in', 'what @RateLimit() names must be one of "writes", "reads", got "log-in". Add it to the limits of'],
    ['', 'what @RateLimit() names must be one of "writes", "reads", got "".'],
    [{ polcy: 1 } as never, 'rateLimit options has no field "polcy"'],
    [{ policy: perMinute(1), rules: [] } as never, 'rateLimit needs a policy or rules, not both'],
    [{ key: 'ip' as never }, 'key must be a function, got "ip".'],
    [{ limits: {} } as never, 'rateLimit options has no field "limits"'],
  ])('of @RateLimit(%j)', async (own, message) => {
    const limits = { writes: { cost: 2 }, reads: { cost: 1 } };
    await expect(limited({ policy: perMinute(1), limits }, { controllers: [withOwn(own)] })).rejects.toThrow(message);
  });

  it.each<[object, string]>([
    [{ store: memoryStore() }, 'rateLimit needs a policy or rules, and got neither'],
    [{ policy: perMinute(1), limits: { x: { policy: 5 } } }, 'policy must be'],
    [{ policy: perMinute(1), global: 'no' }, 'global must be one of true, false, got "no".'],
    [{ policy: perMinute(1), throttlers: [] }, 'rateLimit options has no field "throttlers"'],
    [{ policy: perMinute(1), http: 'request' }, 'http must be a function, got "request".'],
  ])('of the module: %j', async (options, message) => {
    await expect(limited(options, { controllers: [Cats] })).rejects.toThrow(message);
  });

  it('@RateLimit() where the module has no limit', async () => {
    @Controller()
    class Reports {
      @RateLimit()
      @Get('daily')
      daily() {
        return 'report';
      }
    }
    const message = 'rateLimit needs a policy or rules, and got neither';
    await expect(limited({ global: false }, { controllers: [Reports] })).rejects.toThrow(message);
  });

  it('two classes of one name, each with a policy', async () => {
    const one = withOwn({ policy: perMinute(1) });
    const other = withOwn({ policy: perMinute(2) });
    await expect(limited({ policy: perMinute(9) }, { controllers: [one, other] })).rejects.toThrow(
      'name must be given where two are called Reports.daily and have a policy each',
    );
  });

  it('decorators without the module', async () => {
    await expect(start(onExpress, { controllers: [withOwn({ cost: 2 })] })).rejects.toThrow(
      /RateLimitGuard.*RateLimits/s,
    );
  });

  it('the module without a guard: a warning', async () => {
    const warned: string[] = [];
    const limits = RateLimitModule.forRoot({ policy: perMinute(1), warn: (text) => warned.push(text) });
    const app = await start(onExpress, { imports: [limits], controllers: [Cats] });
    expect(await statuses(app, ['/cats', '/cats'])).toEqual([200, 200]);
    expect(warned).toEqual([
      expect.stringMatching(/no RateLimitGuard stands before what has no @RateLimit.*nest\/README\.md#mistakes$/),
    ]);
  });

  describe('a guard that stands before too little: a warning', () => {
    @Controller('reports')
    class Reports {
      @RateLimit({ policy: perMinute(1) })
      @Get('daily')
      daily() {
        return 'report';
      }
    }
    // As those write it who come from other limiters.
    @Controller('guarded')
    class GuardedReports {
      @UseGuards(RateLimitGuard)
      @RateLimit({ policy: perMinute(1) })
      @Get('daily')
      daily() {
        return 'report';
      }
    }
    @UseGuards(RateLimitGuard)
    @Controller('dogs')
    class Dogs {
      @Get()
      all() {
        return 'dogs';
      }
    }
    @Controller('birds')
    class Birds {
      @UseGuards(RateLimitGuard)
      @Get()
      all() {
        return 'birds';
      }
    }
    class OwnGuard extends RateLimitGuard {}
    Injectable()(OwnGuard);
    // Made with the first request, when the application has long started.
    class OwnGuardOfRequest extends RateLimitGuard {}
    Injectable({ scope: Scope.REQUEST })(OwnGuardOfRequest);
    class OtherGuardOfRequest implements CanActivate {
      canActivate() {
        return true;
      }
    }
    Injectable({ scope: Scope.REQUEST })(OtherGuardOfRequest);
    @UseGuards(OwnGuardOfRequest)
    @Controller('fish')
    class Fish {
      @Get()
      all() {
        return 'fish';
      }
    }
    const decorated = [Reports, GuardedReports];
    const [own, alias, ofRequest, transient, ownOfRequest, aliasOfRequest, madeOfRequest, otherOfRequest] = [
      { provide: APP_GUARD, useClass: OwnGuard },
      { provide: APP_GUARD, useExisting: RateLimitGuard },
      { provide: APP_GUARD, useClass: RateLimitGuard, scope: Scope.REQUEST },
      { provide: APP_GUARD, useClass: RateLimitGuard, scope: Scope.TRANSIENT },
      { provide: APP_GUARD, useClass: OwnGuardOfRequest },
      { provide: APP_GUARD, useExisting: OwnGuardOfRequest },
      {
        provide: APP_GUARD,
        useFactory: (guard: CanActivate) => guard,
        inject: [OwnGuardOfRequest],
        scope: Scope.REQUEST,
      },
      { provide: APP_GUARD, useClass: OtherGuardOfRequest },
    ];

    // biome-ignore format: aligned rows
    it.each<[what: string, warnings: number, options: object, metadata: ModuleMetadata, modules?: number]>([
      [ 'decorators only, beside what has none',      1, {},                { controllers: [...decorated, Cats] } ],
      [ 'decorators only, on everything',             0, {},                { controllers: decorated } ],
      [ 'decorators only, as it is said',             0, { global: false }, { controllers: [...decorated, Cats] } ],
      [ 'a guard everywhere',                         0, {},                { controllers: [...decorated, Cats], providers: [everywhere] } ],
      [ 'a guard of its own everywhere',              0, {},                { controllers: [...decorated, Cats], providers: [own] } ],
      [ 'a guard that is provided, everywhere',       0, {},                { controllers: [...decorated, Cats], providers: [RateLimitGuard, alias] } ],
      [ 'a guard before a class',                     0, {},                { controllers: [...decorated, Cats, Dogs] } ],
      [ 'a guard before a method',                    0, {},                { controllers: [...decorated, Cats, Birds] } ],
      [ 'the module twice, and a guard everywhere',   0, {},                { controllers: [Cats], providers: [everywhere] }, 2 ],
      [ 'the module twice, and a guard before some',  0, {},                { controllers: [Cats, Dogs] }, 2 ],
      [ 'the module twice, and no guard',             2, {},                { controllers: [Cats] }, 2 ],
      [ 'a guard per request, everywhere',            0, {},                { controllers: [...decorated, Cats], providers: [ofRequest] } ],
      [ 'a transient guard everywhere',               0, {},                { controllers: [...decorated, Cats], providers: [transient] } ],
      [ 'its own per request, everywhere',            0, {},                { controllers: [Cats], providers: [ownOfRequest] } ],
      [ 'one per request that is provided',           0, {},                { controllers: [Cats], providers: [OwnGuardOfRequest, aliasOfRequest] } ],
      [ 'one per request that a factory is given',    0, {},                { controllers: [Cats], providers: [OwnGuardOfRequest, madeOfRequest] } ],
      [ 'one per request before a class',             0, {},                { controllers: [...decorated, Cats, Fish] } ],
      [ 'the module twice, and one per request',      0, {},                { controllers: [Cats], providers: [ofRequest] }, 2 ],
      [ 'another guard per request',                  1, {},                { controllers: [Cats], providers: [otherOfRequest] } ],
      [ 'another per request, beside decorators',     1, {},                { controllers: [...decorated, Cats], providers: [otherOfRequest] } ],
    ])('%s: %d', async (_, warnings, options, metadata, modules = 1) => {
      const warned: string[] = [];
      const limits = Array.from({ length: modules }, (_each, i) => {
        const name = `limit-${i}`;
        return RateLimitModule.forRoot({ policy: perMinute(1), name, warn: (text: string) => warned.push(text), ...options });
      });
      await start(onExpress, { ...metadata, imports: limits });
      expect(warned).toHaveLength(warnings);
    });

    it('whatever another application has', async () => {
      const warned: string[] = [];
      const limits = RateLimitModule.forRoot({ policy: perMinute(1), warn: (text) => warned.push(text) });
      await start(onExpress, { imports: [limits], controllers: [Cats], providers: [everywhere] });
      expect(warned).toEqual([]);
      await start(onExpress, { imports: [limits], controllers: [Cats] });
      expect(warned).toHaveLength(1);
    });
  });
});

describe('a refusal', () => {
  const typeOnWire = { Express: 'application/problem+json', Fastify: 'application/problem+json; charset=utf-8' };

  it.each(platforms)('on %s is problem+json, and Nest has nothing to say about it', async (platform, adapter) => {
    const logger = { log: vi.fn(), warn: vi.fn(), error: vi.fn() } satisfies LoggerService;
    const app = await limited({ policy: perMinute(1) }, { controllers: [Cats] }, adapter);
    app.app.useLogger(logger);
    await fetch(`${app.url}/cats`);
    const refused = await fetch(`${app.url}/cats`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(refused.headers.get('content-type')).toBe(typeOnWire[platform]);
    expect(await refused.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'default allows 1 in 60 s. Try again in 60 s.',
      'violated-policies': ['default'],
    });
    expect([logger.warn.mock.calls, logger.error.mock.calls]).toEqual([[], []]);
  });

  it.each(platforms)('on %s is an exception that filters can catch', async (_, adapter) => {
    @Catch(RateLimitException)
    class Filter implements ExceptionFilter {
      catch({ refused, message }: RateLimitException, host: ArgumentsHost) {
        const response = host.switchToHttp().getResponse();
        response.header('Content-Type', 'text/plain');
        response.status(refused.status).send(`${refused.result.tightest?.rule}: ${message}`);
      }
    }
    const providers = [{ provide: APP_FILTER, useClass: Filter }];
    const app = await limited({ policy: perMinute(1) }, { controllers: [Cats], providers }, adapter);
    await fetch(`${app.url}/cats`);
    const refused = await fetch(`${app.url}/cats`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(refused.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await refused.text()).toBe('default: default allows 1 in 60 s. Try again in 60 s.');
  });

  it('is an HttpException', async () => {
    const seen: HttpException[] = [];
    @Catch(HttpException)
    class Filter implements ExceptionFilter {
      catch(exception: HttpException, host: ArgumentsHost) {
        seen.push(exception);
        host.switchToHttp().getResponse().sendStatus(exception.getStatus());
      }
    }
    const providers = [{ provide: APP_FILTER, useClass: Filter }];
    const app = await limited({ policy: perMinute(1) }, { controllers: [Cats], providers });
    expect(await statuses(app, ['/cats', '/cats'])).toEqual([200, 429]);
    expect(seen[0]?.name).toBe('RateLimitException');
    expect(seen[0]?.getResponse()).toMatchObject({ title: 'Quota exceeded' });
  });

  it.each([
    [
      'throws',
      () => {
        throw new HttpException({ slow: 'down' }, 420);
      },
    ],
    ['returns', () => new HttpException({ slow: 'down' }, 420)],
    ['returns later', async () => new HttpException({ slow: 'down' }, 420)],
    ['rejects with', () => Promise.reject(new HttpException({ slow: 'down' }, 420))],
  ])('is what the handler %s', async (_, handler) => {
    const app = await limited({ policy: perMinute(1), handler }, { controllers: [Cats] });
    await fetch(`${app.url}/cats`);
    const refused = await fetch(`${app.url}/cats`);
    expect([refused.status, await refused.json()]).toEqual([420, { slow: 'down' }]);
    expect(refused.headers.get('content-type')).toMatch(/^application\/json/);
    expect(refused.headers.get('retry-after')).toBe('60');
  });

  it('is the usual one where the handler says nothing, and knows which method was asked for', async () => {
    const asked: string[] = [];
    const handler = (context: ExecutionContext) =>
      void asked.push(`${context.getClass().name}.${context.getHandler().name}`);
    const app = await limited({ policy: perMinute(1), handler }, { controllers: [Cats] });
    expect(await statuses(app, ['/cats/one', '/cats/one'])).toEqual([200, 429]);
    expect(asked).toEqual(['Cats.one']);
  });
});

describe('who is calling', () => {
  @Injectable()
  class Authenticated implements CanActivate {
    canActivate(context: ExecutionContext) {
      const request = context.switchToHttp().getRequest();
      request.user = { id: request.headers['x-user'], tier: request.headers['x-tier'] };
      return true;
    }
  }
  const as = (user: string, tier = 'free') => ({ headers: { 'x-user': user, 'x-tier': tier } });

  it.each(platforms)('on %s is what an earlier guard has found out; and so is what he may', async (_, adapter) => {
    const limits = RateLimitModule.forRoot({
      policy: (request) => perMinute(request.user.tier === 'paid' ? 3 : 1),
      key: (request) => request.user.id,
    });
    const providers = [{ provide: APP_GUARD, useClass: Authenticated }, everywhere];
    const app = await start(adapter, { imports: [limits], controllers: [Cats], providers });
    expect(await statuses(app, ['/cats', '/cats'], as('alice'))).toEqual([200, 429]);
    expect(await statuses(app, ['/cats', '/cats', '/cats', '/cats'], as('bob', 'paid'))).toEqual([200, 200, 200, 429]);
  });

  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  it('is what Express makes of its trust proxy', async () => {
    const limits = RateLimitModule.forRoot({ policy: perMinute(1) });
    const metadata = { imports: [limits], controllers: [Cats], providers: [everywhere] };
    const app = await start(onExpress, metadata, (app) =>
      (app as NestExpressApplication).set('trust proxy', 'loopback'),
    );
    expect(await statuses(app, ['/cats', '/cats'], from('203.0.113.9'))).toEqual([200, 429]);
    expect(await statuses(app, ['/cats'], from('203.0.113.10'))).toEqual([200]);
  });

  it('is what Fastify makes of its trustProxy', async () => {
    const adapter = () => new FastifyAdapter({ trustProxy: 'loopback', forceCloseConnections: true });
    const app = await limited({ policy: perMinute(1) }, { controllers: [Cats] }, adapter as never);
    expect(await statuses(app, ['/cats', '/cats'], from('203.0.113.9'))).toEqual([200, 429]);
    expect(await statuses(app, ['/cats'], from('203.0.113.10'))).toEqual([200]);
  });
});

describe('the module', () => {
  it('takes its options from a factory, at once or later, with what is injected', async () => {
    const Limit = Symbol('limit');
    @Module({ providers: [{ provide: Limit, useValue: 1 }], exports: [Limit] })
    class Settings {}
    for (const isLater of [false, true]) {
      const limits = RateLimitModule.forRootAsync({
        imports: [Settings],
        inject: [Limit],
        useFactory: (limit: number) => {
          const options = { policy: perMinute(limit), name: 'injected' };
          return isLater ? Promise.resolve(options) : options;
        },
      });
      const app = await start(onExpress, { imports: [limits], controllers: [Cats], providers: [everywhere] });
      expect(await statuses(app, ['/cats', '/cats'])).toEqual([200, 429]);
      expect(await headerOf(app, '/cats')).toBe('"injected";r=0;t=60');
    }
    const bare = RateLimitModule.forRootAsync({ useFactory: () => ({ policy: perMinute(1) }) });
    const app = await start(onExpress, { imports: [bare], controllers: [Cats], providers: [everywhere] });
    expect(await statuses(app, ['/cats', '/cats'])).toEqual([200, 429]);
  });

  it('tells of a mistake once, however many decorators there are', async () => {
    const warned: string[] = [];
    @RateLimit({ policy: perMinute(9), name: 'own' })
    @Controller('dogs')
    class Dogs extends Cats {}
    const app = await limited(
      { policy: perMinute(9), warn: (text) => warned.push(text) },
      { controllers: [Dogs, Cats] },
    );
    await statuses(app, ['/cats', '/dogs'], { headers: { 'x-forwarded-for': '203.0.113.9' } });
    expect(warned).toEqual([expect.stringMatching(/^There is an X-Forwarded-For/)]);
  });

  it('counts for each application by itself', async () => {
    const limits = RateLimitModule.forRoot({ policy: perMinute(1) });
    for (let i = 0; i < 2; i += 1) {
      const app = await start(onExpress, { imports: [limits], controllers: [Cats], providers: [everywhere] });
      expect(await statuses(app, ['/cats', '/cats'])).toEqual([200, 429]);
    }
  });

  it('is there for the modules of the application', async () => {
    @Controller('dogs')
    class Dogs {
      @RateLimit('strict')
      @Get()
      all() {
        return 'dogs';
      }
    }
    @Module({ controllers: [Dogs] })
    class DogsModule {}
    const app = await limited(
      { policy: perMinute(9), limits: { strict: { policy: perMinute(1) } } },
      { imports: [DogsModule] },
    );
    expect(await statuses(app, ['/dogs', '/dogs'])).toEqual([200, 429]);
  });

  it('takes rules, and gives decorators rules of their own', async () => {
    const all = { name: 'all', policy: perMinute(3) };
    @Controller()
    class Reports {
      @RateLimit({ rules: [all, { name: 'daily', key: 'ip', policy: perMinute(1) }] })
      @Get('daily')
      daily() {
        return 'report';
      }

      @RateLimit({ rules: rules([{ name: 'made', policy: perMinute(1) }]) })
      @Get('made')
      made() {
        return 'report';
      }
    }
    const app = await limited({ rules: [all] }, { controllers: [Reports, Cats] });
    expect(await statuses(app, ['/daily', '/daily', '/cats', '/cats', '/cats', '/made', '/made'])).toEqual([
      200, 429, 200, 200, 429, 200, 429,
    ]);
  });
});

describe('rateLimit()', () => {
  it('is a guard that needs no module, for a class or a method', async () => {
    const shared = rateLimit({ policy: perMinute(2), name: 'class' });
    @UseGuards(shared)
    @Controller()
    class Reports {
      @UseGuards(rateLimit({ policy: perMinute(1), name: 'method', key: ({ headers }) => headers['x-user'] as string }))
      @Get('a')
      a() {
        return 'a';
      }

      @SkipRateLimit()
      @Get('b')
      b() {
        return 'b';
      }
    }
    const app = await start(onExpress, { controllers: [Reports] });
    expect(await headerOf(app, '/a', 'ratelimit-policy')).toBe('"class";q=2;w=60, "method";q=1;w=60');
    expect(await statuses(app, ['/a', '/a', '/b', '/b', '/b'])).toEqual([429, 429, 200, 200, 200]);
  });
});

describe('what is not HTTP', () => {
  const later = (store: Store<'sync'>): Store<'async'> => ({
    mode: 'async',
    clock: store.clock,
    apply: async (checks, atMs, id) => store.apply(checks, atMs, id),
  });

  function contextOf(type: string, args: readonly unknown[]): ExecutionContext {
    const context: Partial<ExecutionContext> = {
      getType: () => type as never,
      getClass: () => Cats as never,
      getHandler: () => Cats.prototype.all,
      getArgByIndex: (index) => args[index] as never,
    };
    return context as ExecutionContext;
  }

  it('passes', async () => {
    const guard = rateLimit({ policy: perMinute(1) });
    for (let i = 0; i < 3; i += 1) {
      expect(await guard.canActivate(contextOf('rpc', [{}, {}]))).toBe(true);
      expect(await guard.canActivate(contextOf('ws', [{}, {}]))).toBe(true);
    }
  });

  it('is limited by the request behind it: once, though a query has many resolvers, and all hear the same', async () => {
    const store = later(memoryStore({ clock: new TestClock() }));
    const guard = rateLimit({
      policy: perMinute(1),
      store,
      http: (context) => context.getArgByIndex(2).http,
    });
    const headers: Record<string, unknown> = {};
    const query = () => {
      const request = {
        method: 'POST',
        url: '/graphql',
        headers: {},
        ip: '203.0.113.9',
        socket: { remoteAddress: '203.0.113.9' },
      };
      const response = {
        headersSent: false,
        setHeader: (name: string, value: unknown) => Object.assign(headers, { [name]: value }),
      };
      const args = [{}, {}, { http: { request, response } }];
      const resolvers = [1, 2, 3].map(() => guard.canActivate(contextOf('graphql', args)));
      return Promise.allSettled(resolvers);
    };
    const [first, second] = [await query(), await query()];
    expect(first.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
    expect(second.map((settled) => settled.status === 'rejected' && settled.reason.getStatus())).toEqual([
      429, 429, 429,
    ]);
    expect(headers).toMatchObject({ RateLimit: '"default";r=0;t=60', 'Retry-After': '60' });
    expect(await guard.canActivate(contextOf('graphql', [{}, {}, {}]))).toBe(true);
  });

  /** The request that opened a socket. */
  const upgrade = () => ({
    method: 'GET',
    url: '/socket',
    headers: { upgrade: 'websocket' },
    ip: undefined,
    socket: { remoteAddress: '203.0.113.9' },
  });

  describe('and comes by a socket', () => {
    @RateLimit()
    @UseGuards(RateLimitGuard)
    @Injectable()
    class Chat {
      @UseGuards(RateLimitGuard)
      say() {
        return 'said';
      }
    }

    /** Calls the method as Nest's gateways, microservices and resolvers do: with all of its guards. */
    async function chat(type: string, options: Pick<RateLimitModuleOptions, 'http'> & NestOwnOptions) {
      const clock = new TestClock();
      const warned: string[] = [];
      const usual = { policy: perMinute(2), clock, warn: (text: string) => warned.push(text) };
      const { app } = await limited({ ...usual, ...options } as RateLimitModuleOptions, { providers: [Chat] });
      const host = app.get(Chat);
      const only = { guards: true, interceptors: false, filters: false };
      const creator = app.get(ExternalContextCreator);
      const said = [undefined, undefined, undefined] as const;
      const call = creator.create(host, host.say, 'say', ...said, undefined, only, type);
      const ask = (...args: unknown[]): Promise<unknown> =>
        call(...args).catch((error: unknown) => (error instanceof RateLimitException ? error.getStatus() : error));
      return { ask, clock, warned };
    }

    const client = () => ({ request: upgrade() });

    it.each([
      ['ws', (context: ExecutionContext) => context.switchToWs().getClient()],
      ['rpc', (context: ExecutionContext) => context.switchToRpc().getData()],
    ])('%s: each message is counted, once by however many guards it has', async (type, http) => {
      const { ask, clock, warned } = await chat(type, { http });
      const [one, other] = [client(), client()];
      expect([await ask(one, 'a'), await ask(one, 'a'), await ask(one, 'a')]).toEqual(['said', 'said', 429]);
      expect([await ask(other, 'b'), await ask(other, 'b')]).toEqual([429, 429]);
      clock.advance(60_000);
      expect(await Promise.all([ask(one, 'c'), ask(one, 'c'), ask(one, 'c')])).toEqual(['said', 'said', 429]);
      expect(warned).toEqual([]);
    });

    it('is told of one message at a time, where it comes by several limits', async () => {
      const told: unknown[] = [];
      const handler = (_: unknown, { result, problem }: RateLimitException['refused']) =>
        void told.push([result.tightest?.rule, problem['violated-policies']]);
      const http = (context: ExecutionContext) => context.switchToWs().getClient();
      const clock = new TestClock();
      const store = later(memoryStore({ clock }));
      const [both, own] = [
        rateLimit({ policy: perMinute(1), name: 'both', store, http, handler }),
        rateLimit({ policy: perMinute(1), name: 'own', store, http, handler }),
      ];
      const socket = client();
      const ask = (guard: CanActivate) =>
        Promise.resolve(
          guard.canActivate({ ...contextOf('ws', [socket]), switchToWs: () => ({ getClient: () => socket }) } as never),
        );
      await ask(both);
      await ask(own);
      await expect(Promise.all([ask(both)])).rejects.toThrow('both allows 1');
      await expect(Promise.all([ask(own)])).rejects.toThrow('own allows 1');
      expect(told).toEqual([
        ['both', ['both']],
        ['own', ['own']],
      ]);
    });

    it('needs no response, and is not answered by one that it has', async () => {
      const setHeader = vi.fn();
      const response = {
        statusCode: 101,
        headersSent: false,
        setHeader,
        getHeader() {},
        once: setHeader,
        on: setHeader,
      };
      const http = (context: ExecutionContext) => ({ ...context.switchToWs().getClient(), response });
      const { ask } = await chat('ws', { policy: perMinute(1), costAfter: () => 0, http });
      const socket = client();
      expect([await ask(socket), await ask(socket)]).toEqual(['said', 429]);
      expect(setHeader).not.toHaveBeenCalled();
    });

    it('is refused by what the handler makes of it', async () => {
      const http = (context: ExecutionContext) => context.switchToWs().getClient();
      const handler = (context: ExecutionContext, { status }: RateLimitException['refused']) =>
        new Error(`${context.getType()}: ${status}`);
      const { ask } = await chat('ws', { policy: perMinute(1), http, handler });
      const socket = client();
      expect([await ask(socket), await ask(socket)]).toEqual(['said', new Error('ws: 429')]);
    });

    it('is held back by a policy that delays', async () => {
      const http = (context: ExecutionContext) => context.switchToWs().getClient();
      const policy = leakyBucket({ limit: 1, window: '1s', burst: 1 });
      const { ask, clock } = await chat('ws', { policy, http });
      const socket = client();
      expect(await ask(socket)).toBe('said');
      const second = vi.fn();
      const asked = ask(socket).then(second);
      await vi.waitFor(() => expect(clock.sleeping).toBe(1));
      expect(second).not.toHaveBeenCalled();
      clock.advance(1000);
      await asked;
      expect(second).toHaveBeenCalledWith('said');
    });

    it('GraphQL: each operation is counted, once by however many resolvers it has', async () => {
      const http = (context: ExecutionContext) => ({
        request: context.getArgByIndex(2).req,
        response: context.getArgByIndex(2).res,
      });
      const { ask, clock, warned } = await chat('graphql', { http });
      const request = upgrade();
      const operation = () => {
        const ofOperation = { req: request };
        return Promise.all([1, 2, 3].map(() => ask({}, {}, ofOperation, {})));
      };
      expect(await operation()).toEqual(['said', 'said', 'said']);
      expect(await operation()).toEqual(['said', 'said', 'said']);
      expect(await operation()).toEqual([429, 429, 429]);
      clock.advance(60_000);
      expect(await operation()).toEqual(['said', 'said', 'said']);
      expect(warned).toEqual([]);
    });
  });

  it.each<[found: unknown, message: string]>([
    [null, 'what http returns must be { request, response }, got null. Return undefined where there is no request'],
    ['request', 'what http returns must be { request, response }, got "request".'],
    [{}, 'request, which http returns, must be an HTTP request, got undefined. Return undefined where there is none'],
    [{ req: upgrade() }, 'request, which http returns, must be an HTTP request, got undefined.'],
    [{ request: { extra: 1 } }, 'request, which http returns, must be an HTTP request, got {"extra":1}.'],
    [
      { request: upgrade(), response: null },
      'response, which http returns, must be the response of Express or of Fastify, got null. Leave it out where there is none',
    ],
    [{ request: upgrade(), response: { header: 1 } }, 'or of Fastify, got {"header":1}. Leave it out'],
    [{ request: upgrade(), response: { raw: {} } }, 'or of Fastify, got {"raw":{}}. Leave it out'],
  ])('is told what is wrong where http returns %j', async (found, message) => {
    const guard = rateLimit({ policy: perMinute(1), http: () => found as never });
    const asked = async () => guard.canActivate(contextOf('graphql', [{}, {}, {}]));
    await expect(asked()).rejects.toThrow(message);
  });
});

it.each(platforms)('on %s charges by the outcome, with the response of the platform', async (platform, adapter) => {
  @Controller()
  class Answers {
    @Header('x-tokens', '7')
    @Get('answer')
    answer() {
      return 'words';
    }
  }
  const seen: unknown[] = [];
  const app = await limited(
    {
      policy: perMinute(99),
      costAfter(_request, { status, isComplete, response }) {
        seen.push([status, isComplete, response.getHeader('x-tokens')]);
        return Number(response.getHeader('x-tokens'));
      },
    },
    { controllers: [Answers] },
    adapter,
  );
  expect(await statuses(app, ['/answer'])).toEqual([200]);
  expect(await headerOf(app, '/answer')).toBe('"default";r=91;t=60');
  expect(seen).toEqual(Array(2).fill([200, true, '7']));
  if (platform === 'Fastify') {
    await (app.app as NestFastifyApplication).inject('/answer');
    expect(seen[2]).toEqual([200, true, '7']);
  }
});

it('lets nobody in where what is thrown is nothing', async () => {
  const key = () => Promise.reject(undefined);
  const app = await limited({ policy: perMinute(1), key }, { controllers: [Cats] });
  expect(await statuses(app, ['/cats'])).toEqual([500]);
});
