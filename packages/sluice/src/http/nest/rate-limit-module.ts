import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { NestRequest, RateLimitModuleOptions } from './options.ts';
import { RateLimitGuard } from './rate-limit-guard.ts';
import { RateLimits } from './rate-limits.ts';

export interface RateLimitModuleAsyncOptions<Request = NestRequest> {
  /** The modules that export what is injected. */
  readonly imports?: ModuleMetadata['imports'];
  /** What the factory is given. */
  readonly inject?: FactoryProvider['inject'];
  readonly useFactory: (
    // biome-ignore lint/suspicious/noExplicitAny: what is injected, in its order
    ...injected: any[]
  ) => RateLimitModuleOptions<Request> | Promise<RateLimitModuleOptions<Request>>;
}

const optionsToken = Symbol('the options of RateLimitModule');

/** For the whole application, imported once: `RateLimitModule.forRoot({ policy })`. */
// biome-ignore lint/complexity/noStaticOnlyClass: this is what a module of Nest is
export class RateLimitModule {
  static forRoot<Request = NestRequest>(options: RateLimitModuleOptions<Request>): DynamicModule {
    return moduleWith({ provide: optionsToken, useValue: options });
  }

  static forRootAsync<Request = NestRequest>(options: RateLimitModuleAsyncOptions<Request>): DynamicModule {
    const { imports = [], inject = [], useFactory } = options;
    return { ...moduleWith({ provide: optionsToken, useFactory, inject }), imports };
  }
}
Module({})(RateLimitModule);

function moduleWith(options: Provider): DynamicModule {
  const limits: Provider = {
    provide: RateLimits,
    useFactory: (given: RateLimitModuleOptions, modules: ModulesContainer) =>
      new RateLimits(given, modules, RateLimitGuard),
    inject: [optionsToken, ModulesContainer],
  };
  return { module: RateLimitModule, global: true, providers: [options, limits], exports: [RateLimits] };
}
