/** The words of HTTP/1.1, as both sides of the gateway use them. */

/**
 * Names and values in turn: `[name, value, name, value]`. Names are in lower case, as HTTP/2 demands and HTTP/1.1 allows; several
 * lines of one name stay several.
 */
export type HeaderList = readonly string[];

/** How long a body is: so many bytes (0: there is none), in chunks, or until the connection ends (answers only). */
export type Framing = number | 'chunked' | 'until-close';

/** What a request asks for, whatever protocol it came by. */
export interface RequestHead {
  readonly method: string;
  /** Path and query, as they came: `/a?b=c`. `*` of `OPTIONS *`. */
  readonly target: string;
  /** Host and port as the client wrote them; empty where HTTP/1.0 has no `Host`. */
  readonly authority: string;
  /** All headers, those of this hop among them; `host` is not, it is `authority`. */
  readonly headers: HeaderList;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
}

/** A request's head as it was read from an HTTP/1 connection, with what it says about the connection. */
export interface ReadRequest extends RequestHead {
  readonly version: '1.0' | '1.1';
  readonly framing: Framing;
  /** Whether the client wants to send more on this connection. */
  readonly isKeepAlive: boolean;
  readonly expectsContinue: boolean;
  /** The protocol it wants to switch to, in lower case; undefined: none. */
  readonly upgrade: string | undefined;
}

export interface ReadResponse extends ResponseHead {
  readonly framing: Framing;
  readonly isKeepAlive: boolean;
}

/** How much of a message is read before it is refused. */
export interface MessageLimits {
  /** Of a whole head, and of trailers. */
  readonly headBytes: number;
  /** Lines. */
  readonly headers: number;
}

/** What came is not a message that may be passed on. */
export class BadMessage extends Error {
  /** What the gateway answers: 400, 413, 414, 417, 431, 501, 505. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'BadMessage';
    this.status = status;
  }
}
