// What resilience4j, opossum and cockatiel do, from their own tests. They differ at the edges, and where they do, the choice
// here is: it opens at the threshold (opossum: only above), and is half-open at exactly the end of its time (resilience4j:
// only after). Rejected calls are no votes (opossum: they are). resilience4j has a threshold of its own for slow calls; here
// a slow call is a failure.
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import type { Pass } from '../protection.ts';
import { circuitBreaker } from './circuit-breaker.ts';
import type { CircuitBreakerOptions } from './settings.ts';

/**
 * What is done: `o` ok, `f` failed, `i` ignored, `s` a slow success, `p` a call is let through and stays out, `r` a call is
 * refused, `b` the oldest call that is out is ignored, `T` tripped, `F` held open, `C` closed by hand, a number: so many
 * milliseconds pass. After it, the state: `c`losed, `o`pen, `h`alf-open.
 */
type Script = string;

const states = { c: 'closed', o: 'open', h: 'half-open' } as const;

const byTime: CircuitBreakerOptions = {
  failureRatio: 0.5,
  window: '20s',
  minCalls: 5,
  slowAfter: 4000,
  probes: 4,
  openFor: 5000,
};

const resilience4j: readonly [name: string, options: CircuitBreakerOptions, script: Script][] = [
  ['refuses calls while it is open', byTime, 'To ro'],
  ['refuses calls while it is held open', byTime, 'Fo ro 6000o ro'],
  ['gives back the place of a probe that was released', byTime, 'To 5000h ph ph ph ph rh rh bh ph'],
  ['lets only four probes through, each time', byTime, 'To 5000h ph ph ph ph rh rh To 5000h ph ph ph ph rh rh'],
  ['opens at the threshold', byTime, 'oc 1000c oc 1000c oc 1000c fc 1000c fc 1000c fo'],
  ['opens with the call that makes them enough', byTime, 'fc fc fc oc oo ro'],
  ['opens when too many are slow', byTime, 'fc sc fc oc so'],
  ['is half-open after its time', byTime, 'To ro 3000o ro 3000h ph'],
  [
    'grows: 5 seconds, then half as long again',
    { failureRatio: 0.5, windowCalls: 5, probes: 4, openFor: 5000, openGrowth: 1.5 },
    'To ro 3000o ro 3000h ph To 6000o ro 5000h ph',
  ],
  ['goes back to open when too many probes fail', byTime, 'To 5000h fh fh oh fo'],
  ['goes back to open when too many probes are slow', byTime, 'To 5000h sh sh sh oo'],
  ['closes when few enough probes fail', byTime, 'To 5000h fh oh oh oc pc pc oc'],
  ['forgets what was counted when it is reset', byTime, 'oc fc Cc fc fc fc fc fo'],
  ['an ignored probe does not decide', byTime, 'To 5000h oh oh oh ih fc'],
  ['ignored probes are without end', byTime, 'To 5000h ih ih ih ih oh oh oh oc'],
  ['is reset to closed', byTime, 'To Cc'],
];

const cockatiel: readonly [name: string, options: CircuitBreakerOptions, script: Script][] = [
  ['opens after failing calls', { consecutiveFailures: 2, openFor: 1000 }, 'fc fo ro'],
  ['closes if the probe succeeds', { consecutiveFailures: 2, openFor: 1000 }, 'fc fo 1000h oc'],
  [
    'backs off: 1 second, then 2',
    { consecutiveFailures: 2, openFor: 1000, openGrowth: 2 },
    'fc fo 1000h fo 1000o ro 1000h oc',
  ],
];

const opossum: readonly [name: string, options: CircuitBreakerOptions, script: Script][] = [
  ['with no least volume opens at once', { failureRatio: 0.01, minCalls: 1, openFor: 100 }, 'fo'],
  ['a least volume of three', { failureRatio: 0.01, minCalls: 3, openFor: 100 }, 'fc fc fo'],
  [
    'the least volume does not matter half-open',
    { failureRatio: 0.01, minCalls: 2, window: 300, openFor: 300 },
    'fc fo 450h fo',
  ],
  ['a probe that fails opens it again', { failureRatio: 0.01, minCalls: 1, openFor: 100 }, 'fo 150h fo ro'],
];

function play(options: CircuitBreakerOptions, script: Script): Script {
  const clock = new TestClock();
  const breaker = circuitBreaker({ ...options, clock });
  const out: Pass[] = [];
  const call = () => breaker.tryPass() ?? expect.fail('was refused');
  const acts: Record<string, () => void> = {
    o: () => call().ok(),
    f: () => call().failed(),
    i: () => call().ignored(),
    p: () => out.push(call()),
    r: () => expect(breaker.tryPass()).toBeUndefined(),
    b: () => out.shift()?.ignored(),
    T: () => breaker.trip(),
    F: () => breaker.open(),
    C: () => breaker.close(),
    s() {
      const pass = call();
      clock.advance(4001);
      pass.ok();
    },
  };
  return script.replace(/(\d+|\w)(\w)( |$)/g, (_, act: string, _state, end: string) => {
    if (acts[act]) acts[act]();
    else clock.advance(Number(act));
    const letter = Object.entries(states).find(([, state]) => state === breaker.state)?.[0];
    return `${act}${letter}${end}`;
  });
}

describe.each([
  ['resilience4j', resilience4j],
  ['cockatiel', cockatiel],
  ['opossum', opossum],
] as const)('as %s: a circuit breaker', (_, table) => {
  it.each(table)('%s', (_name, options, script) => {
    expect(play(options, script)).toBe(script);
  });
});

it('counts as resilience4j does in its window of ten calls', () => {
  const breaker = circuitBreaker({ failureRatio: 1, windowCalls: 10, clock: new TestClock() });
  const seen = [...'ooffffffooooooo'].map((letter) => {
    breaker.tryPass()![letter === 'f' ? 'failed' : 'ok']();
    const { calls, failures } = breaker.stats();
    return calls < 10 ? -1 : (100 * failures) / calls;
  });
  expect(seen.slice(9)).toEqual([60, 60, 60, 50, 40, 30]);
});
