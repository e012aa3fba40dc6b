/** The limits of an application: which one stands before which method of which class. */
import type { ExecutionContext, OnApplicationBootstrap, OnModuleInit, Type } from '@nestjs/common';
import { MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core';
import { invalid } from '../../vocabulary/errors.ts';
import { knownFields, oneOf } from '../../vocabulary/policy.ts';
import { optionFields } from '../middleware/options.ts';
import { inOneStore, ownOptions, type WholeOptions } from '../middleware/own-options.ts';
import { type Mistake, warnings } from '../middleware/warnings.ts';
import { Limit } from './limit.ts';
import type {
  NestOwnOptions,
  NestRateLimitOptions,
  NestRequest,
  NestResponse,
  RateLimitModuleOptions,
  RefusalHandler,
} from './options.ts';

/** What a decorator says: options, the name of a limit, as the module has it (true), or no limit at all. */
export type Decorated = NestOwnOptions | string | boolean;

export const metadataKey = 'sluice/nest rateLimit';

/** Nest calls all functions by one type, of which only the name is needed. */
type Method = { readonly name: string };

const reflector = new Reflector();

function decoratedBy(target: object): Decorated | undefined {
  return reflector.get(metadataKey, target as Type);
}

/** Whether the nearest decorator says that nothing is to be limited. */
export function isSkipped(context: ExecutionContext): boolean {
  return (decoratedBy(context.getHandler()) ?? decoratedBy(context.getClass())) === false;
}

// Where Nest keeps what @UseGuards() and @Get() say.
const guardsKey = '__guards__';
const pathKey = 'path';

// Of an application that starts, the guards that were made: it may import the module twice, and a guard knows one of the two.
const guardsMade = new WeakMap<ModulesContainer, Set<object>>();

export class RateLimits implements OnModuleInit, OnApplicationBootstrap {
  readonly #modules: ModulesContainer;
  readonly #guardClass: Type;
  readonly #whole: WholeOptions<NestRequest, NestResponse, RefusalHandler>;
  readonly #http: RateLimitModuleOptions['http'];
  readonly #isGlobal: boolean;
  readonly #warn: (mistake: Mistake) => void;
  /** As the module has it. */
  readonly #limit: Limit | undefined;
  /** By name, for decorators that say a name. */
  readonly #named: ReadonlyMap<string, Limit>;
  /** Of decorators that say options, by what they are called. */
  readonly #own = new Map<string, { readonly own: NestOwnOptions; readonly limit: Limit }>();
  readonly #found = new WeakMap<object, WeakMap<object, Limit | false>>();
  #hasStarted = false;

  /** @param guardClass that those who are not made yet are recognised by */
  constructor(options: RateLimitModuleOptions, modules: ModulesContainer, guardClass: Type) {
    knownFields('rateLimit options', options, `${optionFields} http global limits`);
    const { global = true, limits = {}, http, ...whole } = options;
    this.#isGlobal = oneOf('global', global, [true, false]) as boolean;
    this.#modules = modules;
    this.#guardClass = guardClass;
    if (!guardsMade.has(modules)) guardsMade.set(modules, new Set());
    this.#http = http;
    this.#whole = inOneStore(whole);
    this.#warn = warnings(whole.warn);
    const isWhole = global || whole.policy !== undefined || whole.rules !== undefined;
    this.#limit = isWhole ? this.#make(this.#whole, this.#warn) : undefined;
    this.#named = new Map(Object.entries(limits).map(([name, own]) => [name, this.#makeOwn(own, name)]));
  }

  /** The limit that stands before a method. */
  of(context: ExecutionContext): Limit | false {
    return this.#of(context.getClass(), context.getHandler());
  }

  /** To be told of each guard: without one, nothing is limited but what has a decorator. */
  guard(made: object): void {
    // Those of a narrower scope are made again and again.
    if (!this.#hasStarted) guardsMade.get(this.#modules)?.add(made);
  }

  /** A decorator that says something wrong is told of when the application starts, and not by a route that nobody limits. */
  onModuleInit(): void {
    for (const [type, method] of this.#methods()) {
      if ((decoratedBy(method) ?? decoratedBy(type)) !== undefined) this.#of(type, method);
    }
  }

  onApplicationBootstrap(): void {
    this.#hasStarted = true;
    if (!this.#isGuarded()) this.#warn('no-guard');
  }

  /** Whether a guard stands before what has no decorator, which brings its own; or nothing is left that is to be limited. */
  #isGuarded(): boolean {
    const made = [...(guardsMade.get(this.#modules) ?? [])];
    const used = [...this.#modules.values()].flatMap(({ injectables }) => [...injectables.values()]);
    // By @UseGuards(), its own or a decorator's: it stands before some methods. Every other is there for all of them.
    const isLocal = (guard: object) =>
      used.some(({ instance, token }) => instance === guard && token === guard.constructor);
    if (!made.every(isLocal)) return true;
    // For all of them too, but made with the first request: by APP_GUARD, which gives it a name of its own.
    const isOfRequests = ({ metatype, token, inject }: (typeof used)[number]) =>
      token !== metatype && [metatype, ...(inject ?? [])].some((one) => this.#isGuard(one));
    if (used.some(isOfRequests)) return true;
    let isAnyDecorated = false;
    let isAnyBare = false;
    for (const [type, method] of this.#methods()) {
      const said = decoratedBy(method) ?? decoratedBy(type);
      if (said !== undefined) isAnyDecorated ||= said !== false;
      else {
        const guards: unknown[] = [method, type].flatMap((target) => reflector.get(guardsKey, target as Type) ?? []);
        if (guards.some((guard) => this.#isGuard(guard))) return true;
        isAnyBare ||= reflector.get(pathKey, method as Type) !== undefined;
      }
    }
    return isAnyDecorated && !(isAnyBare && this.#isGlobal);
  }

  #isGuard(target: unknown): boolean {
    return target === this.#guardClass || (target as Partial<Type> | null)?.prototype instanceof this.#guardClass;
  }

  *#methods(): Generator<[Type, Method]> {
    const scanner = new MetadataScanner();
    for (const { controllers, providers } of this.#modules.values()) {
      for (const { metatype } of [...controllers.values(), ...providers.values()]) {
        const prototype: Record<string, Method> | undefined = metatype?.prototype;
        if (prototype === undefined) continue;
        for (const name of scanner.getAllMethodNames(prototype)) yield [metatype as Type, prototype[name] as Method];
      }
    }
  }

  #of(type: Type, method: Method): Limit | false {
    const known = this.#found.get(type)?.get(method);
    if (known !== undefined) return known;
    const limit = this.#decorated(type, method);
    const methods = this.#found.get(type) ?? new WeakMap<object, Limit | false>();
    this.#found.set(type, methods.set(method, limit));
    return limit;
  }

  /** The nearest decorator decides: the method's, or else the class's. */
  #decorated(type: Type, method: Method): Limit | false {
    const ofMethod = decoratedBy(method);
    const said = ofMethod ?? decoratedBy(type);
    if (said === undefined) return (this.#isGlobal && this.#limit) || false;
    if (said === false) return false;
    if (said === true) return this.#limit ?? this.#make(this.#whole, this.#warn);
    if (typeof said === 'string') return this.#byName(said);
    return this.#byOptions(said, ofMethod === undefined ? type.name : `${type.name}.${method.name}`);
  }

  #byName(name: string): Limit {
    const limit = this.#named.get(name);
    if (limit !== undefined) return limit;
    const names = [...this.#named.keys()].map((known) => JSON.stringify(known)).join(', ');
    throw invalid(
      'what @RateLimit() names',
      names === '' ? 'one of the limits of the module' : `one of ${names}`,
      name,
      'Add it to the limits of RateLimitModule.forRoot().',
    );
  }

  #byOptions(own: NestOwnOptions, name: string): Limit {
    const known = this.#own.get(name);
    if (known?.own === own) return known.limit;
    if (known !== undefined && own.policy !== undefined && own.name === undefined)
      throw invalid('name', `given where two are called ${name} and have a policy each`, own.name);
    const limit = this.#makeOwn(own, name);
    this.#own.set(name, { own, limit });
    return limit;
  }

  #makeOwn(own: NestOwnOptions, name: string): Limit {
    knownFields('rateLimit options', own, optionFields);
    return this.#make(ownOptions(this.#whole, own, name), own.warn === undefined ? this.#warn : undefined);
  }

  #make(options: object, warn: ((mistake: Mistake) => void) | undefined): Limit {
    return new Limit({ ...options, ...(this.#http && { http: this.#http }) } as NestRateLimitOptions, warn);
  }
}
