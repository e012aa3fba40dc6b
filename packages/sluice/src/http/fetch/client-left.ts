/**
 * That the client of a request has left, where the request's own signal does not say it: @hono/node-server goes by the response, and of requests that a
 * client sends without waiting for answers one response at a time has the connection. Those behind it are never told that it was closed.
 */

/** As much of what @hono/node-server hands over beside a request as is needed here. Everything may be missing, or be something else. */
interface ServerDetails {
  readonly incoming?: { readonly socket?: Connection | null } | null;
  /** Without a socket while it waits for its turn. */
  readonly outgoing?: { readonly socket?: unknown } | null;
}

interface Connection {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

const inLine = new WeakMap<Connection, Set<() => void>>();

/** Tells once the connection is closed that a response waits for, at once if it is already. Returns how to stop listening. */
export function whenLeftInLine(details: unknown, tell: () => void): (() => void) | undefined {
  const { incoming, outgoing } = (details ?? {}) as ServerDetails;
  const connection = incoming?.socket;
  if (!connection || outgoing?.socket !== null) return undefined;
  if (connection.destroyed) tell();
  const known = inLine.get(connection);
  const waiting = (known ?? new Set()).add(tell);
  if (known === undefined) {
    inLine.set(connection, waiting);
    // One listener for all: a client may send more requests at once than a socket has listeners without warning of a leak.
    connection.once('close', () => {
      for (const each of waiting) each();
    });
  }
  return () => waiting.delete(tell);
}
