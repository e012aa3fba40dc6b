import type { ForwardingHeader } from '../client-ip.ts';

/** How a framework's requests are read. */
export interface RequestReader<Request> {
  /** The peer's address; undefined where there is none, as on a Unix socket. */
  peerAddress(request: Request): string | undefined;
  header(request: Request, name: ForwardingHeader): string | readonly string[] | undefined;
  method(request: Request): string;
  /** As the framework's router reads it, without the query, and decoded by `decodedPath`. */
  path(request: Request): string;
  /** The client's address as the framework has it, where the framework can be told of proxies. */
  ownAddress?(request: Request): string | undefined;
  /** What the framework was told of proxies: of none, of some, or to believe everybody. */
  ownTrust?(request: Request): 'none' | 'some' | 'everyone';
  /** What stays the same object through one request, where the request does not. */
  identity?(request: Request): object;
}

/** What one request is known by. */
export function identityOf<Request>(request: Request, reader: RequestReader<Request>): object {
  return reader.identity?.(request) ?? (request as object);
}
