/**
 * The circuit breaker and the bulkhead of an origin: made here from options, or given. What is given knows nothing of HTTP, so it is asked
 * for leave, and told here how a call ended.
 */
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { bulkhead } from '../bulkhead/bulkhead.ts';
import { type CircuitBreaker, circuitBreaker } from '../circuit-breaker/circuit-breaker.ts';
import { runWithPass, sluiceCodeOf } from '../passes.ts';
import type { Pass, Protection } from '../protection.ts';
import { judgeFailure, judgeRejection } from './answers.ts';
import type { Tell } from './events.ts';
import type { GivenGate, OutboundSettings } from './options.ts';

/** Makes one for an origin. */
export interface Guards {
  readonly breaker: (origin: string) => CircuitBreaker | undefined;
  readonly bulkhead: (origin: string) => Protection | undefined;
}

export function guardsOf(settings: OutboundSettings, tell: Tell): Guards {
  const { clock, random } = settings;
  // An origin that had to leave and comes back may be given the same again.
  const heard = new WeakSet<CircuitBreaker>();

  function breakerOf(name: string): CircuitBreaker | undefined {
    const given = settings.circuitBreaker;
    if (given === undefined) return undefined;
    const breaker =
      typeof given === 'function' ? checkBreaker(given(name)) : circuitBreaker({ ...given, name, clock, random });
    if (breaker === undefined || heard.has(breaker)) return breaker;
    heard.add(breaker);
    breaker.on('change', ({ from, to, reason }) => tell('circuit', { origin: name, from, to, reason }));
    return breaker;
  }

  function bulkheadOf(name: string): Protection | undefined {
    const given = settings.bulkhead;
    if (given === undefined) return undefined;
    const onRefused = () => tell('refused', { origin: name, by: 'bulkhead' });
    if (typeof given === 'function') {
      const gate = checkGate(given(name));
      return gate && gated(gate, onRefused);
    }
    const full = bulkhead({ ...given, name, clock });
    full.on('refused', onRefused);
    return full;
  }

  return { breaker: breakerOf, bulkhead: bulkheadOf };
}

/** `early` is to be asked before anybody waits: who is in line for long must not be told at its end what was known at its beginning. */
export function breaking(
  breaker: CircuitBreaker,
  origin: string,
  tell: Tell,
): { early: Protection; around: Protection } {
  function passOf(): Pass {
    const pass = breaker.tryPass();
    if (pass) return pass;
    tell('refused', { origin, by: 'circuitBreaker' });
    const leftMs = breaker.retryAfterMs();
    const until = leftMs < Number.POSITIVE_INFINITY ? `for another ${Math.ceil(leftMs)} ms` : 'until it is closed';
    throw new SluiceError(
      'circuit-open',
      `The circuit breaker of ${origin} is ${breaker.state} and lets no call through ${until}.`,
    );
  }

  return {
    early: {
      async run(call, { signal } = {}) {
        signal?.throwIfAborted();
        // A pass is asked for so that the breaker counts the refusal. Where the time has just come there is one, too early to use.
        if (breaker.retryAfterMs() > 0) passOf().ignored();
        return call(signal);
      },
    },
    around: {
      async run(call, { signal } = {}) {
        signal?.throwIfAborted();
        return runWithPass(passOf(), call, signal, judgeFailure);
      },
    },
  };
}

function gated(gate: GivenGate, onRefused: () => void): Protection {
  async function passOf(signal: AbortSignal | undefined): Promise<Pass> {
    try {
      return await gate.waitForPass({ signal });
    } catch (error) {
      if (sluiceCodeOf(error) === 'bulkhead-full') onRefused();
      throw error;
    }
  }

  return {
    async run(call, { signal } = {}) {
      const pass = await passOf(signal);
      if (signal?.aborted) {
        // Between having the place and getting to know of it.
        pass.ignored();
        throw signal.reason;
      }
      return runWithPass(pass, call, signal, judgeRejection);
    },
  };
}

function checkBreaker(given: CircuitBreaker | undefined): CircuitBreaker | undefined {
  if (given === undefined) return undefined;
  if (typeof given?.tryPass === 'function' && typeof given.retryAfterMs === 'function') return given;
  throw invalid('what circuitBreaker returns', 'a circuit breaker such as circuitBreaker()', given);
}

function checkGate(given: GivenGate | undefined): GivenGate | undefined {
  if (given === undefined) return undefined;
  if (typeof given?.waitForPass === 'function') return given;
  throw invalid('what bulkhead returns', 'a bulkhead such as bulkhead() or adaptiveConcurrency()', given);
}
