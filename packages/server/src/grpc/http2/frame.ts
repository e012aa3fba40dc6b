/** The numbers of HTTP/2's frames (RFC 9113), and how one that breaks the rules is told. */

/** Sent by a client before anything else. */
export const clientPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const frameHeadBytes = 9;

/** The largest payload, unless a side has announced more; this one never does. */
export const payloadBytesMax = 16_384;

/** What each side may send before it hears of more. */
export const firstWindowBytes = 65_535;

/** No window is larger. */
export const windowBytesMax = 2 ** 31 - 1;

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlags = { endStream: 0x1, acknowledge: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const settingIds = {
  headerTableBytes: 1,
  enablePush: 2,
  concurrentStreams: 3,
  firstWindowBytes: 4,
  payloadBytes: 5,
  headerListBytes: 6,
} as const;

/** Why a stream or a connection ends, by the names of RFC 9113. */
export const endCodes = {
  noError: 0,
  protocolError: 1,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export type EndCode = (typeof endCodes)[keyof typeof endCodes];

/** The other side broke the protocol, and the connection cannot go on. */
export class BrokenProtocol extends Error {
  readonly code: EndCode;

  constructor(code: EndCode, message: string) {
    super(message);
    this.name = 'BrokenProtocol';
    this.code = code;
  }
}

export const protocolError = (message: string) => new BrokenProtocol(endCodes.protocolError, message);
