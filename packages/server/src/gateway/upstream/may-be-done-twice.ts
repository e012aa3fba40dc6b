/** What may be done twice and is the same as once (RFC 9110, 9.2.2). What an upgrade does is its protocol's, not its method's. */
import type { Exchange } from '../exchange.ts';

const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

export function mayBeDoneTwice({ request, upgrade }: Exchange): boolean {
  return upgrade === undefined && idempotentMethods.has(request.method);
}
