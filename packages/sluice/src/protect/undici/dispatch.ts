/** As much of undici 7 as is needed here, by its shape: the library does not depend on it. */

export interface DispatchController {
  readonly aborted: boolean;
  readonly paused: boolean;
  readonly reason: Error | null;
  rawHeaders?: unknown;
  rawTrailers?: unknown;
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

type DispatchHeaders = Record<string, string | string[] | undefined>;

/** Whoever gets the answer. Each is called as a method. */
export interface DispatchHandler {
  // biome-ignore lint/suspicious/noExplicitAny: undici itself says no more about it
  onRequestStart?(controller: DispatchController, context: any): void;
  // biome-ignore lint/suspicious/noExplicitAny: a socket of Node, which this library does not know
  onRequestUpgrade?(controller: DispatchController, statusCode: number, headers: DispatchHeaders, socket: any): void;
  onResponseStart?(
    controller: DispatchController,
    statusCode: number,
    headers: DispatchHeaders,
    statusMessage?: string,
  ): void;
  // biome-ignore lint/suspicious/noExplicitAny: a Buffer of Node
  onResponseData?(controller: DispatchController, chunk: any): void;
  onResponseEnd?(controller: DispatchController, trailers: DispatchHeaders): void;
  onResponseError?(controller: DispatchController, error: Error): void;
}

export interface DispatchOptions {
  readonly origin?: string | URL;
  readonly path: string;
  readonly method: string;
  readonly body?: unknown;
  readonly headers?: unknown;
  readonly idempotent?: boolean;
  readonly upgrade?: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: what undici calls its options and handlers differs from release to release in details that do not matter here
export type Dispatch = (options: any, handler: any) => boolean;
