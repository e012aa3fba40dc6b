/** Tokens that open the doors, compared in a time that says nothing about them. They may change while the service runs. */
import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * What a token is made of. The headers of HTTP and gRPC carry nothing else unharmed, so another token would open the RESP door and no
 * other.
 */
export const tokenPattern = '^[!-~]+$';

/** What is said of something else. */
export const tokenForm =
  'must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints';

export class Tokens {
  private digests: readonly Buffer[];
  private changes = 0;

  constructor(list: readonly string[]) {
    this.digests = list.map(digestOf);
  }

  /** From the next question on. HTTP and gRPC ask with each request; RESP asks with `AUTH` only, and who has passed stays, as with Redis. */
  set(list: readonly string[]): void {
    this.digests = list.map(digestOf);
    this.changes += 1;
  }

  /** Another number whenever they may be others: what was found good under another one has to be asked again. */
  get revision(): number {
    return this.changes;
  }

  /** Clients need one. */
  get areNeeded(): boolean {
    return this.digests.length > 0;
  }

  has(token: string): boolean {
    const digest = digestOf(token);
    // All of them, whichever fits: stopping at the first would tell which.
    let isKnown = false;
    for (const known of this.digests) if (timingSafeEqual(known, digest)) isKnown = true;
    return isKnown;
  }

  /** The header `authorization: Bearer <token>`, of HTTP and of gRPC. */
  hasBearer(authorization: string | undefined): boolean {
    const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
    return token !== undefined && this.has(token);
  }
}

/** Digests are equally long, which timingSafeEqual needs, so not even the length of a token shows. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
