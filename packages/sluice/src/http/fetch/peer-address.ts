/**
 * The address of a request's peer. A `Request` has none; servers hand over beside it what knows it:
 *
 *      Deno               handler(request, info)      info.remoteAddr.hostname
 *      Bun                handler(request, server)    server.requestIP(request).address
 *      @hono/node-server  handler(request, env)       env.incoming.socket.remoteAddress
 *      Cloudflare         handler(request, env)       the header CF-Connecting-IP, which Cloudflare writes
 */

/** What is looked for in what a server hands over. Everything may be missing, or be something else. */
interface ServerDetails {
  readonly remoteAddr?: { readonly hostname?: unknown } | null;
  requestIP?(request: Request): { readonly address?: unknown } | null | undefined;
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } | null } | null;
  /** Some hand over what they have under this name. */
  readonly server?: ServerDetails | null;
}

/**
 * Whether Cloudflare has let this request in. Only its runtime writes `cf`; the header alone any caller could send to any other server.
 */
export function isFromCloudflare(request: Request): boolean {
  const { cf } = request as { cf?: unknown };
  return cf !== undefined && cf !== null;
}

/** `details` is what the server handed over beside the request. */
export function peerAddressOf(request: Request, details: unknown): string | undefined {
  if (isFromCloudflare(request)) return request.headers.get('cf-connecting-ip') ?? undefined;
  if (typeof details !== 'object' || details === null) return undefined;
  return addressIn(details, request) ?? addressIn((details as ServerDetails).server ?? {}, request);
}

function addressIn(details: ServerDetails, request: Request): string | undefined {
  const address =
    typeof details.requestIP === 'function'
      ? details.requestIP(request)?.address
      : (details.remoteAddr?.hostname ?? details.incoming?.socket?.remoteAddress);
  return typeof address === 'string' ? address : undefined;
}
