import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import type { NestOwnOptions, NestRequest } from './options.ts';
import { RateLimitGuard } from './rate-limit-guard.ts';
import { type Decorated, metadataKey } from './rate-limits.ts';

/**
 * A limit of its own for a method, or one for all methods of a class together: by options, or by the name of one of the module's `limits`.
 * Without either it is limited as the module has it. It brings its guard, and what it does not say is as the module has it.
 */
export function RateLimit<Request = NestRequest>(
  own?: NestOwnOptions<Request> | string,
): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(metadataKey, (own ?? true) as Decorated), UseGuards(RateLimitGuard));
}

/** No limit at all, whatever the class or the module says. */
export function SkipRateLimit(): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(metadataKey, false));
}
