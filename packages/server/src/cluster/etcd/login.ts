/** A user's token: asked for when it is first needed, by one call for all who wait, and again when etcd no longer knows it. */
import type { Gateway } from './gateway-request.ts';
import { GatewayFailure } from './gateway-request.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface Login {
  /** Rejects with a `GatewayFailure`. */
  token(endpoint: string, signal: AbortSignal): Promise<string>;
  /** This one was turned away. */
  forget(token: string): void;
}

export function login(gateway: Gateway, { username, password }: Credentials): Login {
  let known: string | undefined;
  let asking: Promise<string> | undefined;

  async function ask(endpoint: string, signal: AbortSignal): Promise<string> {
    const body = { name: username, password };
    try {
      const answer = await gateway.ask({ endpoint, path: '/v3/auth/authenticate', body, signal });
      known = (answer as { readonly token?: string }).token;
    } catch (cause) {
      const { message, code } = cause as GatewayFailure;
      // Whatever became of the login: what it was for has not been sent.
      throw new GatewayFailure(`the login of ${username} failed: ${message}`, { isUndone: true, code, cause });
    } finally {
      asking = undefined;
    }
    if (known === undefined) throw new GatewayFailure('its answer to a login has no token', { isUndone: true });
    return known;
  }

  return {
    async token(endpoint, signal) {
      if (known !== undefined) return known;
      asking ??= ask(endpoint, signal);
      return until(signal, asking);
    },
    forget(token) {
      if (known === token) known = undefined;
    },
  };
}

/** The token of a login that somebody else waits for too, who may have more time. */
function until(signal: AbortSignal, asking: Promise<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const end = () =>
      reject(new GatewayFailure(String(signal.reason.message), { isUndone: true, cause: signal.reason }));
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    asking.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}

/** etcd does not know the token (any more), or its users have changed since. Either way it has done nothing. */
export function isStaleToken(failure: unknown): boolean {
  if (!(failure instanceof GatewayFailure)) return false;
  return failure.code === unauthenticated || failure.message.includes('revision of auth store is old');
}

/** Of gRPC. */
const unauthenticated = 16;
