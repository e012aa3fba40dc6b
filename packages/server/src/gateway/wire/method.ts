/** Which methods are passed on. */
import { isToken } from './characters.ts';
import { BadMessage } from './message.ts';

const usual = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
const longestMethod = 32;

/**
 * Throws unless it is one of capitals, digits, `-` and `_`. `get` is not GET, but some servers take it for that, and rules that
 * speak of GET would not have seen it. Also of use for HTTP/2.
 */
export function checkMethod(method: string): void {
  if (usual.has(method)) return;
  if (method.length > longestMethod) throw new BadMessage(501, 'a method is longer than any that is known');
  if (!isToken(method)) throw new BadMessage(400, 'a method must be a token');
  if (method === 'CONNECT') throw new BadMessage(501, 'CONNECT is for proxies, and this is a gateway');
  if (!/^[A-Z][A-Z0-9_-]*$/.test(method)) throw new BadMessage(501, 'a method must be in capitals');
}
