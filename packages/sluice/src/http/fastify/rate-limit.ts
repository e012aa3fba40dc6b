/**
 * For Fastify 5, as a plugin of the scope that it is registered in:
 *
 *      await app.register(rateLimit({ policy: gcra({ limit: 100, window: '1m' }) }));
 *      app.get('/health', { config: { rateLimit: false } }, health);
 *      app.get('/report', { config: { rateLimit: { cost: 10 } } }, report);
 *      app.post('/log-in', { config: { rateLimit: { policy: gcra({ limit: 5, window: '1m' }) } } }, logIn);
 *
 * It is one hook for everything in the scope, what is not found included, whether it was declared before the plugin was loaded or after. A
 * route with options of its own has a hook of its own instead.
 */
import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { knownFields, oneOf } from '../../vocabulary/policy.ts';
import { optionFields, type PolicyOptions, type RateLimitOptions, type RulesOptions } from '../middleware/options.ts';
import { inOneStore, type OwnOptions, ownOptions, type WholeOptions } from '../middleware/own-options.ts';
import { type Mistake, warnings } from '../middleware/warnings.ts';
import { limitHook, type RateLimitHook, type RefusalHandler } from './limit-hook.ts';

/** When a request is limited: as soon as it is there, or once its body is parsed, or validated. */
export type LimitingHook = 'onRequest' | 'preValidation' | 'preHandler';

interface HookOptions {
  /** The hook of Fastify that limits. Default `'onRequest'`: before the body is read. */
  readonly hook?: LimitingHook;
}

export type FastifyRateLimitOptions = HookOptions &
  (
    | (RateLimitOptions<FastifyRequest, FastifyReply, RefusalHandler> & { readonly global?: true })
    | (WholeOptions<FastifyRequest, FastifyReply, RefusalHandler> & {
        /** False: nothing is limited but routes that say so. Default true. */
        readonly global: false;
      })
  );

/** A route's own, under `config.rateLimit`; what it does not say is as registered. */
export type FastifyRouteOptions = HookOptions & OwnOptions<FastifyRequest, FastifyReply, RefusalHandler>;

/** What `app.rateLimit()` takes; what it does not say is as registered. A policy of its own has to be named. */
export type FastifyHookOptions = Omit<
  OwnOptions<FastifyRequest, FastifyReply, RefusalHandler>,
  'policy' | 'name' | 'key' | 'rules' | 'subject'
> &
  (
    | (Omit<PolicyOptions<FastifyRequest>, 'name'> & { readonly name: string })
    | (Omit<Partial<PolicyOptions<FastifyRequest>>, 'policy'> & { readonly policy?: never })
    | RulesOptions<FastifyRequest>
  );

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of this route's own, or `false` for no limit at all. */
    rateLimit?: FastifyRouteOptions | false;
  }

  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    /** A limit for single routes, besides the one that was registered: `{ preHandler: app.rateLimit({ ... }) }`. Without options, that one. */
    rateLimit(options?: FastifyHookOptions): RateLimitHook;
  }
}

type Done = (error?: Error) => void;

/** The plugin: `app.register(rateLimit({ ... }))`, or as plugins are usually registered, `app.register(rateLimit, { ... })`. */
export function rateLimit(options: FastifyRateLimitOptions): FastifyPluginCallback;
export function rateLimit(app: FastifyInstance, options: FastifyRateLimitOptions, done: Done): void;
export function rateLimit(
  first: FastifyInstance | FastifyRateLimitOptions,
  options?: FastifyRateLimitOptions,
  done?: Done,
): FastifyPluginCallback | undefined {
  if (options === undefined || done === undefined) return pluginOf(new Limits(first as FastifyRateLimitOptions));
  register(first as FastifyInstance, () => new Limits(options), done);
  return undefined;
}

/** One plugin is one set of limits, wherever it is registered. */
function pluginOf(limits: Limits): FastifyPluginCallback {
  return ofThisScope((app, _options, done) => register(app, () => limits, done));
}

/** Without a scope of its own: what it adds is for the one it is registered in. */
function ofThisScope<Plugin extends object>(plugin: Plugin): Plugin {
  const name = 'sluice/fastify';
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: name,
    [Symbol.for('plugin-meta')]: { name, fastify: '>=5' },
  });
}
ofThisScope(rateLimit);

/** The registration of the scope, or the nearest around it: scopes inherit from one another as objects do. */
const nearest = Symbol('sluice/fastify registration');
/** On the `config` of a route that has a hook of its own. */
const hasOwnHook = Symbol('sluice/fastify own hook');

interface Registration {
  readonly limits: Limits;
  /** Which options go by a name that was made from a route. */
  readonly named: Map<string, FastifyRouteOptions>;
}

interface Scope {
  [nearest]?: Registration;
}

/** Fastify waits for `done`, and does not catch. */
function register(app: FastifyInstance, limitsOf: () => Limits, done: Done): void {
  try {
    addTo(app, limitsOf());
    done();
  } catch (error) {
    done(error as Error);
  }
}

function addTo(app: FastifyInstance, limits: Limits): void {
  if (app.rateLimit !== hookOfScope) app.decorate('rateLimit', hookOfScope);
  const registration: Registration = { limits, named: new Map() };
  (app as Scope)[nearest] = registration;
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    if ((this as Scope)[nearest] === registration) addOwnHook(route, registration);
  });
  app.addHook(limits.hook as 'onRequest', limits.hookOfAll());
}

/** A hook of its own for a route that has options of its own. */
function addOwnHook(route: RouteOptions, { limits, named }: Registration): void {
  const own = route.config?.rateLimit;
  if (own === undefined || own === false) return;
  const { hook = limits.hook, ...options } = knownOptions(own, 'hook');
  const limit = limits.make(options, nameOf(route, own, named));
  // A new list: Fastify makes a HEAD route from the options that a GET route was declared with.
  route[checkHook(hook)] = [route[hook] ?? [], limit].flat() as RateLimitHook[];
  route.config = { ...route.config, [hasOwnHook]: true } as NonNullable<typeof route.config>;
}

function nameOf({ method, url }: RouteOptions, own: FastifyRouteOptions, named: Registration['named']): string {
  const methods = [method].flat().join(',');
  // What a route of GET, and maybe of others, answers to HEAD is counted with it.
  const ofGet = methods === 'HEAD' && [...named].find(([known, options]) => options === own && isGet(known, url))?.[0];
  const name = ofGet || `${methods} ${url}`;
  const namesake = named.get(name) ?? own;
  if (namesake !== own && own.policy !== undefined && own.name === undefined) {
    throw invalid('name', `given where two routes are ${name} and have a policy each`, own.name);
  }
  named.set(name, own);
  return name;
}

/** Whether a name that was made from a route is that of GET, and of this path. */
function isGet(name: string, url: string): boolean {
  const end = name.indexOf(' ');
  return name.slice(end + 1) === url && name.slice(0, end).split(',').includes('GET');
}

/** `app.rateLimit()` */
function hookOfScope(this: FastifyInstance, own?: FastifyHookOptions): RateLimitHook {
  const limits = (this as Scope | undefined)?.[nearest]?.limits;
  if (limits === undefined)
    throw new SluiceError('invalid-option', 'rateLimit() is a method of the application: call it as app.rateLimit().');
  if (own === undefined) return limits.registered();
  const options: { policy?: unknown; name?: string } = knownOptions(own);
  if (options.policy !== undefined && options.name === undefined) {
    const wayOut = 'Limits of one name in one store are counted as one.';
    throw invalid('name', 'given beside a policy', options.name, wayOut);
  }
  return limits.make(own, '');
}

/** What was registered, and the limits that are made from it. */
class Limits {
  readonly hook: LimitingHook;
  readonly #whole: WholeOptions<FastifyRequest, FastifyReply, RefusalHandler>;
  readonly #warn: (mistake: Mistake) => void;
  /** The limit of the whole. */
  readonly #limit: RateLimitHook | undefined;
  readonly #isGlobal: boolean;

  constructor(options: FastifyRateLimitOptions) {
    const { hook = 'onRequest', global = true, ...whole } = knownOptions(options, 'hook', 'global');
    this.hook = checkHook(hook);
    this.#isGlobal = oneOf('global', global, [true, false]) as boolean;
    this.#whole = inOneStore(whole);
    this.#warn = warnings(whole.warn);
    const isWhole = global || whole.policy !== undefined || whole.rules !== undefined;
    this.#limit = isWhole ? limitHook(this.#whole as never, this.#warn) : undefined;
  }

  /** For every request of the scope. */
  hookOfAll(): RateLimitHook {
    const limit = this.#isGlobal ? this.#limit : undefined;
    return (request, reply, done) => {
      const config: { rateLimit?: unknown; [hasOwnHook]?: true } = request.routeOptions.config ?? {};
      if (config.rateLimit === undefined) {
        if (limit === undefined) done();
        else limit(request, reply, done);
      } else if (config.rateLimit === false || config[hasOwnHook]) done();
      else done(declaredTooEarly(request));
    };
  }

  registered(): RateLimitHook {
    if (this.#limit !== undefined) return this.#limit;
    throw new SluiceError('invalid-option', 'app.rateLimit() needs a policy or rules, here or where it is registered.');
  }

  make(own: OwnOptions<FastifyRequest, FastifyReply, RefusalHandler>, name: string): RateLimitHook {
    return limitHook(ownOptions(this.#whole, own, name), own.warn === undefined ? this.#warn : undefined);
  }
}

function knownOptions<Options extends object>(options: Options, ...others: readonly string[]): Options {
  knownFields('rateLimit options', options, [optionFields, ...others].join(' '));
  return options;
}

function checkHook(hook: LimitingHook): LimitingHook {
  return oneOf('hook', hook, ['onRequest', 'preValidation', 'preHandler']) as LimitingHook;
}

function declaredTooEarly({ method, routeOptions: { url } }: FastifyRequest): SluiceError {
  return new SluiceError(
    'invalid-option',
    `${method} ${url} has a rateLimit of its own, but was declared before the plugin was loaded. Write: await app.register(rateLimit({ ... })).`,
  );
}
