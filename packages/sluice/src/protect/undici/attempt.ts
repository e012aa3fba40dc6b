/**
 * One attempt of a request: what comes of it is held until it is decided whether anybody gets it.
 *
 *      head ──► held ──┬── accept() ──► everything so far, and from then on all that comes, to the caller's handler
 *                      └── discard() ─► nothing to anybody; a body that has not ended is aborted, so that it holds no connection
 *
 * The decision takes a few turns of promises and no time. The little that comes meanwhile, often a whole short answer, is kept here;
 * more than fits is not read from the socket yet.
 *
 * To the caller's handler it makes no difference. While it pauses, what is held stays here; when it aborts, it is told so and gets nothing more:
 * also of an answer that is over for undici, which has nothing left to abort.
 */
import type { Answer } from '../outbound/answers.ts';
import type { CallerController, Followed } from './caller-controller.ts';
import type { DispatchController, DispatchHandler } from './dispatch.ts';

const mostHeldBytes = 65_536;

type Headers = Parameters<NonNullable<DispatchHandler['onResponseStart']>>[2];

/** What came after the head. */
type Part =
  | { readonly chunk: { readonly length: number } }
  | { readonly trailers: Headers }
  | { readonly error: Error };

export class Attempt implements DispatchHandler, Answer, Followed {
  status = 0;
  headers: Headers = {};
  /** Resolves when the head has come. */
  readonly answer: Promise<Attempt>;
  private readonly caller: CallerController;
  private readonly handler: DispatchHandler;
  private readonly context: object;
  private hasHead!: (attempt: Attempt) => void;
  private hasFailed!: (error: unknown) => void;
  private state: 'sent' | 'held' | 'accepted' | 'discarded' = 'sent';
  private controller: DispatchController | undefined;
  private statusMessage: string | undefined;
  private held: Part[] = [];
  private heldBytes = 0;
  private isEnded = false;
  /** The handler was told the end: there is nothing left to abort. */
  private isOver = false;
  private isHandingOn = false;
  /** Why it was stopped before there was anything to stop. */
  private stopped: Error | undefined;

  /** What undici says about the request goes into `context`. */
  constructor(caller: CallerController, handler: DispatchHandler, context: object) {
    this.caller = caller;
    this.handler = handler;
    this.context = context;
    this.answer = new Promise((resolve, reject) => {
      this.hasHead = resolve;
      this.hasFailed = reject;
    });
  }

  /** Nobody waits for its head any more. */
  stop(reason: unknown): void {
    this.hasFailed(reason);
    this.state = 'discarded';
    this.abortSent(reason instanceof Error ? reason : new Error('The request was aborted.', { cause: reason }));
  }

  discard(): void {
    // The caller has it, or nobody has already.
    if (this.state === 'accepted' || this.state === 'discarded') return;
    this.state = 'discarded';
    this.held = [];
    if (!this.isEnded) this.abortSent(new Error('Nobody reads this answer.'));
  }

  /** Hands everything on. */
  accept(): void {
    this.state = 'accepted';
    this.caller.follow(this);
    this.handOnHeld(() => this.handler.onResponseStart?.(this.caller, this.status, this.headers, this.statusMessage));
  }

  get rawHeaders(): unknown {
    return this.controller?.rawHeaders;
  }

  get rawTrailers(): unknown {
    return this.controller?.rawTrailers;
  }

  /** By the caller, once it was accepted; so are `pause` and `resume`. */
  abort(reason: Error): void {
    this.held = [];
    if (!this.isEnded) this.abortSent(reason);
    else if (!this.isOver) this.handOn({ error: reason });
  }

  pause(): void {
    // Of one that is over the connection may be another's.
    if (!this.isEnded) this.controller!.pause();
  }

  resume(): void {
    this.handOnHeld();
  }

  onRequestStart(controller: DispatchController, context?: object | null): void {
    this.controller = controller;
    Object.assign(this.context, context);
    if (this.stopped) controller.abort(this.stopped);
  }

  onResponseStart(controller: DispatchController, status: number, headers: Headers, statusMessage?: string): void {
    if (this.state !== 'sent') return;
    if (status < 200) {
      this.caller.inform(() => this.handler.onResponseStart?.(this.caller, status, headers, statusMessage));
      return;
    }
    this.controller = controller;
    this.status = status;
    this.headers = headers;
    this.statusMessage = statusMessage;
    this.state = 'held';
    this.hasHead(this);
  }

  onResponseData(controller: DispatchController, chunk: { readonly length: number }): void {
    this.take({ chunk });
    if (this.state !== 'held') return;
    this.heldBytes += chunk.length;
    if (this.heldBytes > mostHeldBytes) controller.pause();
  }

  onResponseEnd(_controller: DispatchController, trailers: Headers): void {
    this.isEnded = true;
    this.take({ trailers });
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.isEnded = true;
    if (this.state === 'sent') this.hasFailed(error);
    else this.take({ error });
  }

  private take(part: Part): void {
    // What comes while some is still held comes after it.
    if (this.state === 'held' || (this.state === 'accepted' && this.held.length > 0)) this.held.push(part);
    else if (this.state === 'accepted') this.handOn(part);
  }

  /** All that is held, up to where the handler pauses or aborts. */
  private handOnHeld(begin?: () => void): void {
    // Resumed by the handler itself, in the middle of what is handed on to it: that goes on.
    if (this.isHandingOn) return;
    this.isHandingOn = true;
    try {
      begin?.();
      while (this.held.length > 0 && !this.caller.paused) this.handOn(this.held.shift()!);
    } catch (error) {
      this.failCaller(error as Error);
    } finally {
      this.isHandingOn = false;
    }
    if (!this.isEnded && !this.caller.paused) this.controller!.resume();
  }

  private handOn(part: Part): void {
    this.isOver = !('chunk' in part);
    if ('chunk' in part) this.handler.onResponseData?.(this.caller, part.chunk);
    else if ('trailers' in part) this.handler.onResponseEnd?.(this.caller, part.trailers);
    else this.handler.onResponseError?.(this.caller, part.error);
  }

  /** The caller's handler threw: as undici has it, that ends the request, and the handler is told, unless it knows already. */
  private failCaller(error: Error): void {
    this.held = [];
    if (!this.isEnded) this.abortSent(error);
    else if (!this.caller.aborted) this.handOn({ error });
  }

  private abortSent(reason: Error): void {
    if (this.controller) this.controller.abort(reason);
    else this.stopped = reason;
  }
}
