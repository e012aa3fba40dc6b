/**
 * HTTP calls with all that keeps both sides well, in one order:
 *
 *      total timeout ──► retry ──► is the circuit open? ──► pacer ──► bulkhead ──► throttle ──► circuit breaker ──► timeout ──► the call
 *
 * Each attempt passes all but the first two. Whoever waits does so before whoever measures: time in line is not held against the
 * server; but nobody waits for a circuit that is open. Every origin has a state of its own, for no more origins than fit.
 *
 * It does not know what a call is. `fetch` and undici's dispatcher each bring their own, and an answer that can be let go of.
 */
import { knownFields } from '../../vocabulary/policy.ts';
import { LatestUsed } from '../latest-used.ts';
import { type Listeners, listenersOf } from '../listeners.ts';
import type { ProtectedCall, RunOptions } from '../protection.ts';
import type { Answer } from './answers.ts';
import { eventNames, type OutboundEvents, type Tell } from './events.ts';
import { guardsOf } from './guards.ts';
import { type OutboundOptions, type OutboundSettings, outboundFields, readOutboundOptions } from './options.ts';
import { type Origin, type OriginStats, originState } from './origin.ts';

export interface OutboundCall {
  readonly url: URL;
  /** It does no harm if it is made twice, and can be. */
  readonly isRepeatable: boolean;
}

export interface Outbound {
  /** Makes the attempts that it takes, and answers as the last one that was made. */
  run<A extends Answer>(call: OutboundCall, attempt: ProtectedCall<A>, options?: RunOptions): Promise<A>;
  on: Listeners<OutboundEvents>['on'];
  /** All that are remembered. */
  origins(): OriginStats[];
  readonly retryUnsafe: boolean;
}

/** `fields` are those of the caller's own, beside the common ones. */
export function outbound(owner: string, options: OutboundOptions, fields: string): Outbound {
  knownFields(`${owner} options`, options, `${outboundFields} ${fields}`.trim());
  const settings = readOutboundOptions(options);
  const { on, tell } = listenersOf<OutboundEvents>(eventNames);
  const guards = guardsOf(settings, tell);
  const origins = new LatestUsed<Origin>(
    settings.maxOrigins,
    (origin) => originState(origin, settings, guards, tell),
    (origin) => origin.isIdle(),
  );
  // What is wrong with an option is said here and now, and not with the first call.
  tryOut(settings);
  if (settings.isOwnPacer) tellOfPacer(settings, tell);

  async function run<A extends Answer>(
    { url, isRepeatable }: OutboundCall,
    attempt: ProtectedCall<A>,
    runOptions?: RunOptions,
  ): Promise<A> {
    const key = settings.originOf(url);
    const origin = origins.get(key);
    const unread: A[] = [];
    // What comes then comes for nobody.
    let isOver = false;
    const letGo = () => {
      for (const answer of unread.splice(0)) answer.discard();
    };

    async function send(signal?: AbortSignal): Promise<A> {
      // Not before another attempt is really made: it might be refused on its way, and then the answer is the one there is. And not
      // after: unread, its body may hold the connection that this one needs.
      letGo();
      const answer = await attempt(signal);
      if (isOver) answer.discard();
      else unread.push(answer);
      const from = answer.redirectedTo && settings.originOf(answer.redirectedTo);
      if (from !== undefined && from !== key) {
        answer.isFromElsewhere = true;
        origins.get(from).hear(answer);
      }
      return answer;
    }

    origin.inFlight += 1;
    try {
      return await (isRepeatable ? origin.repeated : origin.once).run(send, runOptions);
    } catch (error) {
      letGo();
      throw error;
    } finally {
      isOver = true;
      origin.inFlight -= 1;
    }
  }

  return {
    run,
    on,
    origins: () => [...origins.entries()].map(([, origin]) => origin.stats()),
    retryUnsafe: settings.retryUnsafe,
  };
}

/** Makes one of everything that is made from options. What is given is not asked for before there is an origin. */
function tryOut(settings: OutboundSettings): void {
  const { circuitBreaker, bulkhead } = settings;
  const made: OutboundSettings = {
    ...settings,
    circuitBreaker: typeof circuitBreaker === 'function' ? undefined : circuitBreaker,
    bulkhead: typeof bulkhead === 'function' ? undefined : bulkhead,
  };
  const unheard: Tell = () => undefined;
  originState('', made, guardsOf(made, unheard), unheard);
}

function tellOfPacer({ pacer }: OutboundSettings, tell: Tell): void {
  pacer?.on('delayed', ({ key, delayMs }) => tell('delayed', { origin: key, delayMs }));
  pacer?.on('blocked', ({ key, retryAfterMs }) => tell('blocked', { origin: key, retryAfterMs }));
  pacer?.on('refused', ({ key }) => tell('refused', { origin: key, by: 'pacer' }));
}
