/** How the address of a Redis is written, and what is said of one that is not. */
export const redisAddressPattern = '^rediss?://';
export const mustBeRedisAddress = 'must be an address that begins with redis:// or rediss://';
export const noRedisAddress =
  'is not an address. It is written redis://user:password@host:port, special characters percent-encoded.';
