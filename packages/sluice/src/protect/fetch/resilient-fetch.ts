/**
 * `fetch` with manners: the same arguments, the same answers, and behind it everything that keeps a client from making a bad day of its
 * server worse. What is done to each call, and in which order, is in `outbound`.
 *
 *      fetch(input, init) ──► which origin, may it be repeated? ──► protections ──► the given fetch ──► Response
 *
 * An answer is an answer: a 503 that is left after all attempts is returned, as `fetch` would. Only a call that was not made, or not
 * answered in time, ends in a `SluiceError`.
 */
import { functionOf } from '../option-checks.ts';
import { type Answer, blameCaller } from '../outbound/answers.ts';
import type { OutboundEvents } from '../outbound/events.ts';
import type { OutboundOptions } from '../outbound/options.ts';
import type { OriginStats } from '../outbound/origin.ts';
import { type Outbound, outbound } from '../outbound/outbound.ts';
import { ownBody } from '../outbound/own-body.ts';
import { whenAborted } from '../when-aborted.ts';
import { followBody } from './follow-body.ts';
import { isRefusedByPlatform } from './refused-by-platform.ts';
import { type FetchInput, requestFacts } from './request-facts.ts';

/** What is called for each attempt. */
export type Fetch = (input: FetchInput, init?: RequestInit) => Promise<Response>;

export interface ResilientFetchOptions extends OutboundOptions {
  /** What makes the attempts. Default: the `fetch` of the platform. */
  readonly fetch?: Fetch;
}

export interface ResilientFetch extends Fetch {
  /** Calls the listener on each such event, until the returned function is called. */
  on<Name extends keyof OutboundEvents>(name: Name, listener: (event: OutboundEvents[Name]) => void): () => void;
  /** How it stands with each origin that is remembered. */
  origins(): OriginStats[];
}

/** A response whose head has come. */
interface FetchAnswer extends Answer {
  readonly response: Response;
  /** Ends the reading of its body. */
  readonly controller: AbortController;
}

export function resilientFetch(options: ResilientFetchOptions = {}): ResilientFetch {
  const calls: Outbound = outbound('resilientFetch', options, 'fetch');
  // Asked for at each call: whoever replaces the platform's later, for tests, is heard.
  const make = functionOf<Fetch>('fetch', options.fetch, (input, init) => globalThis.fetch(input, init));

  async function fetch(input: FetchInput, init?: RequestInit): Promise<Response> {
    const facts = requestFacts(input, init, calls.retryUnsafe);
    if (facts === undefined) return make(input, init);
    const { signal } = facts;

    async function send(ofAttempt: AbortSignal): Promise<Response> {
      const sent = withSignal(init, facts!.headers, ofAttempt);
      const own = ownBody(sent.body);
      try {
        return await make(input, own.body === sent.body ? sent : { ...sent, body: own.body as BodyInit });
      } catch (error) {
        own.failedWith(error);
        if (error instanceof TypeError && isRefusedByPlatform(facts!, sent)) blameCaller(error);
        throw error;
      }
    }

    const links: (() => void)[] = [];
    async function attempt(given?: AbortSignal): Promise<FetchAnswer> {
      const controller = new AbortController();
      // Until the whole call is over: an answer that is given up on its way through the protections is ended by it too.
      if (given) links.push(whenAborted(given, () => controller.abort(given.reason)));
      const response = await send(controller.signal);
      if (given?.aborted) {
        // A fetch that does not listen to its signal. Nobody waits for its answer any more.
        discard(response);
        throw given.reason;
      }
      return answerWith(response, controller);
    }

    try {
      const { response, controller } = await calls.run(facts, attempt, { signal });
      if (signal && response.body) followBody(signal, controller, response.body);
      return response;
    } finally {
      for (const leave of links) leave();
    }
  }

  return Object.assign(fetch, { on: calls.on, origins: calls.origins });
}

function answerWith(response: Response, controller: AbortController): FetchAnswer {
  const { status, headers } = response;
  // Not every fetch says where an answer came from.
  const redirectedTo = response.redirected && URL.canParse(response.url) ? new URL(response.url) : undefined;
  return { status, headers, redirectedTo, response, controller, discard: () => discard(response) };
}

function discard(response: Response): void {
  // A stream of the platform, or of Node where the fetch that was given is older than the platform's.
  const body = response.body as { cancel?(): Promise<void>; destroy?(): void } | null;
  // One that cannot be cancelled has failed by itself, and holds nothing any more.
  if (typeof body?.cancel === 'function') body.cancel().catch(() => undefined);
  else body?.destroy?.();
}

// All that `fetch` reads of an init.
const initFields = [
  'method',
  'headers',
  'body',
  'mode',
  'credentials',
  'cache',
  'redirect',
  'referrer',
  'referrerPolicy',
  'integrity',
  'keepalive',
  'priority',
  'duplex',
  'window',
] as const;

/** The same, with another signal, in an object that can be spread: the fetch that is given may well do so. */
function withSignal(
  init: RequestInit | undefined,
  headers: RequestInit['headers'] | undefined,
  signal: AbortSignal,
): RequestInit {
  const fields: Record<string, unknown> = { ...init };
  // An init may be a `Request`, whose fields are not its own.
  for (const field of initFields) {
    const value = (init as Record<string, unknown> | undefined)?.[field];
    if (value !== undefined) fields[field] = value;
  }
  if (headers) fields.headers = headers;
  return { ...fields, signal };
}
