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
import type { Answer } from '../outbound/answers.ts';
import type { OutboundOptions } from '../outbound/options.ts';
import { type OriginStats, type Outbound, type OutboundEvents, outbound } from '../outbound/outbound.ts';
import { whenAborted } from '../when-aborted.ts';
import { followBody } from './follow-body.ts';
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
}

export function resilientFetch(options: ResilientFetchOptions = {}): ResilientFetch {
  const calls: Outbound = outbound('resilientFetch', options, 'fetch');
  // Asked for at each call: whoever replaces the platform's later, for tests, is heard.
  const make = functionOf<Fetch>('fetch', options.fetch, (input, init) => globalThis.fetch(input, init));

  async function fetch(input: FetchInput, init?: RequestInit): Promise<Response> {
    const facts = requestFacts(input, init, calls.retryUnsafe);
    if (facts === undefined) return make(input, init);
    const { signal } = facts;

    async function attempt(given?: AbortSignal): Promise<FetchAnswer> {
      const controller = new AbortController();
      const leave = given && whenAborted(given, () => controller.abort(given.reason));
      try {
        const response = await make(input, withSignal(init, controller.signal));
        if (signal && response.body) followBody(signal, controller, response.body);
        return answerWith(response);
      } finally {
        leave?.();
      }
    }

    const { response } = await calls.run(facts, attempt, { signal });
    return response;
  }

  return Object.assign(fetch, { on: calls.on, origins: calls.origins });
}

function answerWith(response: Response): FetchAnswer {
  const { status, headers } = response;
  return { status, headers, response, discard: () => discard(response) };
}

function discard({ body }: Response): void {
  // One that cannot be cancelled has failed by itself, and holds nothing any more.
  body?.cancel().catch(() => undefined);
}

/** The same, with another signal. Not a copy: an init may be a `Request`, whose fields are no fields of its own. */
function withSignal(init: RequestInit | undefined, signal: AbortSignal): RequestInit {
  if (init === undefined || init === null) return { signal };
  return new Proxy(init, {
    get: (target, field) => (field === 'signal' ? signal : Reflect.get(target, field, target)),
    has: (target, field) => field === 'signal' || Reflect.has(target, field),
  });
}
