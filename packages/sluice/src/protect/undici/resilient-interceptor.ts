/**
 * An interceptor for undici 7 that does at the level of its dispatcher what `resilientFetch` does around `fetch`, with the same options,
 * events and promises: `new Agent().compose(resilientInterceptor())`.
 *
 *      dispatch(options, handler) ──► protections ──► attempt ──► attempt ──► its answer ──► handler
 *
 * undici is not imported: an interceptor is a function of a function, and both are known by their shape.
 */
import type { OutboundEvents } from '../outbound/events.ts';
import type { OutboundOptions } from '../outbound/options.ts';
import type { OriginStats } from '../outbound/origin.ts';
import { outbound } from '../outbound/outbound.ts';
import { ownBody } from '../outbound/own-body.ts';
import { isSafeToRepeat, isWhole, keptPairs } from '../outbound/repeatable.ts';
import { whenAborted } from '../when-aborted.ts';
import { Attempt } from './attempt.ts';
import { CallerController } from './caller-controller.ts';
import type { Dispatch, DispatchHandler, DispatchOptions } from './dispatch.ts';

export type ResilientInterceptorOptions = OutboundOptions;

export interface ResilientInterceptor {
  (dispatch: Dispatch): Dispatch;
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof OutboundEvents>(name: Name, listener: (event: OutboundEvents[Name]) => void): () => void;
  /** How it stands with each origin that is remembered. */
  origins(): OriginStats[];
}

export function resilientInterceptor(options: ResilientInterceptorOptions = {}): ResilientInterceptor {
  const calls = outbound('resilientInterceptor', options, '');
  let dispatchers = 0;

  function interceptor(dispatch: Dispatch): Dispatch {
    dispatchers += 1;
    // A client of one origin need not say which. No two of them share what is known.
    const ownOrigin = `http://dispatcher-${dispatchers}.invalid`;

    return (given: DispatchOptions, handler: DispatchHandler) => {
      const url = urlOf(given, ownOrigin);
      // What becomes a tunnel or another protocol is no exchange that could be repeated or measured.
      if (url === undefined || given.method === 'CONNECT' || given.upgrade) return dispatch(given, handler);
      const caller = new CallerController();
      const options = withKeptHeaders(given);
      const isRepeatable = isWhole(given.body) && mayRepeat(options, calls.retryUnsafe);
      // Filled by what is further in, such as the history of redirects, when a request is really made.
      const context = {};
      async function attempt(signal?: AbortSignal): Promise<Attempt> {
        const own = ownBody(options.body);
        const one = new Attempt(caller, handler, context);
        try {
          const sent = own.body === options.body ? options : { ...options, body: own.body };
          return await send(one, () => dispatch(sent, one), signal);
        } catch (error) {
          own.failedWith(error);
          throw error;
        }
      }
      const fail = (error: Error) => handler.onResponseError?.(caller, error);
      handler.onRequestStart?.(caller, context);
      calls.run({ url, isRepeatable }, attempt, caller).then((answered) => {
        if (!caller.aborted) return answered.accept();
        // Aborted in the very turn in which the answer came, it is no answer any more.
        answered.discard();
        fail(caller.reason!);
      }, fail);
      return true;
    };
  }

  return Object.assign(interceptor, { on: calls.on, origins: calls.origins });
}

async function send(attempt: Attempt, dispatch: () => void, signal: AbortSignal | undefined): Promise<Attempt> {
  const leave = signal && whenAborted(signal, () => attempt.stop(signal.reason));
  try {
    dispatch();
    return await attempt.answer;
  } finally {
    leave?.();
  }
}

/** Pairs that can be iterated by every attempt. No list of them: undici takes a list for names and values that take turns. */
function withKeptHeaders(given: DispatchOptions): DispatchOptions {
  const pairs = keptPairs(given.headers);
  return pairs ? { ...given, headers: { [Symbol.iterator]: () => pairs[Symbol.iterator]() } } : given;
}

/** Undefined where undici itself has to say what is wrong with it. */
function urlOf(options: DispatchOptions, ownOrigin: string): URL | undefined {
  try {
    // Put together and not resolved: a path that begins with two slashes is no other host.
    return new URL(new URL(options.origin ?? ownOrigin).origin + options.path);
  } catch {
    // Not silenced: the request goes on to undici as it is.
    return undefined;
  }
}

/** The caller's own word on it first. */
function mayRepeat({ method, headers, idempotent }: DispatchOptions, retryUnsafe: boolean): boolean {
  return idempotent ?? (retryUnsafe || isSafeToRepeat(String(method), headers));
}
