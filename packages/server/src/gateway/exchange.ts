/**
 * One request and its answer, whatever protocol the client speaks. A front (`front/`) makes one of each request that is well-formed; the
 * pipeline decides about it and answers, or forwards it (`upstream/`).
 *
 *      client ──► front ──► Exchange ──► pipeline ──► forward ──► member
 *                             ▲ answer, Sink ◄──────────┘
 *
 * Bodies flow as they come, both ways, and slow down to the slower side: a `Sink` that is full says so, and its `Body` is paused.
 */
import type { Duplex } from 'node:stream';
import type { Framing, HeaderList, RequestHead, ResponseHead } from './wire/message.ts';

export interface Client {
  readonly address: string;
  readonly port: number;
  /** The port it came to. */
  readonly localPort: number;
  readonly isTls: boolean;
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0';
}

export interface BodyReader {
  /** The bytes are the reader's own until it returns; what it keeps for longer it must copy. */
  chunk(bytes: Buffer): void;
  end(trailers: HeaderList): void;
  /** It broke off, or was no body. After it comes nothing. */
  failed(error: Error): void;
}

/** A body as it arrives. It waits until somebody reads it; `100 Continue` is sent then, where the client waits for it. */
export interface Body {
  /** Once. */
  read(reader: BodyReader): void;
  pause(): void;
  resume(): void;
}

/** Where a body goes. */
export interface Sink {
  /** False: it is full. It takes this one still; wait for `whenDrained` before the next. Bytes are sent or copied before it returns to the event loop. */
  write(bytes: Buffer): boolean;
  end(trailers?: HeaderList): void;
  /** The body cannot be finished: the client must notice that it is not whole. */
  abort(): void;
  /** Calls back once there is room again. */
  whenDrained(act: () => void): void;
}

export interface Exchange {
  readonly request: RequestHead;
  readonly framing: Framing;
  /** Undefined: the request has none. */
  readonly body: Body | undefined;
  readonly expectsContinue: boolean;
  /** The protocol to switch to that was asked for, such as `websocket`. */
  readonly upgrade: string | undefined;
  readonly client: Client;
  /** Nobody is there to be answered any more: the client has left, the front has answered it, or its answer was broken off. */
  readonly isGone: boolean;
  /** It was the client that left, before its answer was whole. */
  readonly hasLeft: boolean;
  /** Acts when the client leaves before its answer is whole; at once if it has. One listener: the last. */
  whenGone(act: () => void): void;
  /** `103` and the like; not `100`, which is the front's, and not `101`. */
  inform(head: ResponseHead): void;
  /** The head of the answer, without headers of the hop: how to frame the body and whether to keep the connection is the front's. Once. */
  answer(head: ResponseHead, framing: Framing): Sink;
  /** Head and body at once. HEAD and 304 have the length of a body and none. */
  answerWhole(head: ResponseHead, body: string | Buffer): void;
  /** After `101`: the connection itself, with nothing of HTTP around it. Only where `upgrade` is there. */
  switchProtocols(head: ResponseHead): Duplex;
  /** Of the answer: 0 before there is one. */
  readonly status: number;
  /** Bytes of the answer's body so far. */
  readonly bodyBytes: number;
}
