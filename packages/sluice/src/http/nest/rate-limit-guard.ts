import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Limit } from './limit.ts';
import type { NestRateLimitOptions, NestRequest } from './options.ts';
import { isSkipped, RateLimits } from './rate-limits.ts';

/** Limits by what `RateLimitModule` was told, and by the decorators of what it stands before. */
export class RateLimitGuard implements CanActivate {
  readonly #limits: RateLimits;

  constructor(limits: RateLimits) {
    this.#limits = limits;
    limits.guard(this);
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limit = this.#limits.of(context);
    return limit === false || limit.pass(context);
  }
}
// As functions: this package is compiled without the decorators of old, and needs no metadata of types.
Injectable()(RateLimitGuard);
Inject(RateLimits)(RateLimitGuard, undefined, 0);

/** A guard by itself, that needs no module: `@UseGuards(rateLimit({ ... }))`, or `app.useGlobalGuards(rateLimit({ ... }))`. */
export function rateLimit<Request = NestRequest>(options: NestRateLimitOptions<Request>): CanActivate {
  const limit = new Limit(options as unknown as NestRateLimitOptions);
  return { canActivate: (context) => isSkipped(context) || limit.pass(context) };
}
