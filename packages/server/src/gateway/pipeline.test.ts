/** The list of stages and the way through it; what each stage does with real clients and members is in gateway.test.ts. */
import { fixedWindow, memoryStore, rules } from 'sluice';
import { TestClock } from 'sluice/testing';
import { describe, expect, it } from 'vitest';
import type { UpstreamConfig } from '../config/gateway-config.ts';
import type { Admitted, Refused } from './admission/admission-types.ts';
import { Leases } from './leases.ts';
import { Passage } from './passage.ts';
import { pass, pipeline } from './pipeline.ts';
import { type Limits, Plan, type PlanParts } from './plan.ts';
import { UpstreamPool } from './pool/upstream-pool.ts';
import { RouteMeter } from './report/route-meter.ts';
import { identityOf } from './stages/identity.ts';
import { MemoryExchange } from './upstream/upstream.test-support.ts';

const clock = new TestClock(1_000_000);

const upstream: UpstreamConfig = {
  name: 'app',
  members: [{ id: '127.0.0.1:1', host: '127.0.0.1', port: 1, weight: 1 }],
  balancer: 'round-robin',
  stickyBy: undefined,
  health: undefined,
  outliers: undefined,
  breaker: undefined,
  slowStartMs: 0,
  timeouts: { connectMs: 1000, responseMs: 1000, idleMs: 1000 },
  retries: { attempts: 0, statuses: [], budgetRatio: 0, bodyBytes: 0 },
  connections: 1,
  host: 'client',
};

const route = {
  name: 'all',
  host: undefined,
  path: undefined,
  method: undefined,
  headers: {},
  upstream: 'app',
  rules: undefined,
  admission: undefined,
  priority: 5,
  stripPrefix: undefined,
  maxDelayMs: 0,
};

function setUp(parts: Partial<PlanParts> & { readonly enter?: (request: Passage) => Admitted | Refused } = {}) {
  const said: string[] = [];
  const say = (_: object, message: string) => said.push(message);
  const log = { debug: say, info: say, warn: say, error: say };
  const meter = new RouteMeter();
  const pool = new UpstreamPool(upstream, { clock, log, limits: { headBytes: 1000, headers: 10 } });
  const admission = {
    enter: (request: unknown) => parts.enter!(request as Passage),
    reconfigure() {},
    close() {},
    stats: () => ({}) as never,
  };
  const admittance = parts.enter && { admission, tenantOf: undefined, priorityOf: undefined, priorities: {} };
  const plan = new Plan({
    routeOf: () => ({ config: route, pool, meter, admittance }),
    identity: identityOf({ trustProxy: 0, identify: {} }),
    limits: undefined,
    leases: new Leases(clock, log),
    strangers: new RouteMeter(),
    accessLog: undefined,
    clock,
    log,
    ...parts,
  });
  const go = (exchange = new MemoryExchange()) => {
    plan.begun();
    const passage = new Passage(plan, exchange, clock.now());
    pass(passage);
    return { exchange, passage };
  };
  return { go, meter, said, plan, pool };
}

describe('the pipeline', () => {
  it('is the list that it is known by', () => {
    expect(pipeline.map(({ name }) => name)).toEqual([
      'identify',
      'limit',
      'admit',
      'receive',
      'balance',
      'breakCircuit',
      'forward',
      'report',
    ]);
  });

  it('answers at once what memory refuses, without a promise', () => {
    const store = memoryStore({ clock });
    const own = rules([{ name: 'none', policy: fixedWindow({ limit: 1, window: '1h' }) }], { store });
    const { go, meter } = setUp({ limits: { ...own, renew: () => true } as Limits });
    own.check({});
    const { exchange, passage } = go();
    expect([exchange.status, exchange.isEnded, passage.refusal]).toEqual([429, true, 'limit']);
    expect([meter.inFlight, meter.counts]).toEqual([0, [0, 0, 0, 1, 0, 0]]);
  });

  it('says where it failed itself, and that it was its own fault', () => {
    const { go, meter, said } = setUp({
      limits: {
        check() {
          throw new Error('a mistake');
        },
        release() {},
        renew: () => true,
      },
    });
    const { exchange } = go();
    expect([exchange.status, meter.inFlight, said]).toEqual([500, 0, ['a request failed']]);
    expect(exchange.text).not.toContain('a mistake');
  });

  it('does so also where it failed later', async () => {
    const { go, meter, said } = setUp({
      limits: { check: () => Promise.reject(new Error('late')), release() {}, renew: () => true },
    });
    const { exchange } = go();
    await new Promise(setImmediate);
    expect([exchange.status, meter.inFlight, said]).toEqual([500, 0, ['a request failed']]);
  });

  it('goes no further for a client that left while it was waited for', async () => {
    const endings: string[] = [];
    const { go, meter } = setUp({
      enter: () => ({
        isAdmitted: true,
        waitedMs: 0,
        measured() {},
        measureAnew() {},
        ok: () => endings.push('ok'),
        failed: () => endings.push('failed'),
        ignored: () => endings.push('ignored'),
      }),
    });
    const exchange = new MemoryExchange();
    exchange.leave();
    go(exchange);
    await new Promise(setImmediate);
    expect([exchange.status, meter.counts.at(-1), meter.inFlight]).toEqual([0, 1, 0]);
    // It left before it got a place: there is none to be given back.
    expect(endings).toEqual([]);
  });

  it('gives a place back once, whatever happened after it was given', async () => {
    const endings: string[] = [];
    const { go, pool } = setUp({
      enter: () => ({
        isAdmitted: true,
        waitedMs: 0,
        measured() {},
        measureAnew() {},
        ok: () => endings.push('ok'),
        failed: () => endings.push('failed'),
        ignored: () => endings.push('ignored'),
      }),
    });
    pool.pick(undefined, undefined);
    const { exchange } = go();
    await new Promise<void>((resolve) => {
      const look = () => (exchange.status === 0 ? setImmediate(look) : resolve());
      look();
    });
    // Nobody listens on port 1.
    expect([exchange.status, endings]).toEqual([502, ['failed']]);
  });

  it('lets a plan go when the last of its requests has ended', () => {
    const { go, plan } = setUp();
    let isLeft = false;
    plan.begun();
    plan.retire(() => {
      isLeft = true;
    });
    const exchange = new MemoryExchange();
    exchange.leave();
    go(exchange);
    expect(isLeft).toBe(false);
    plan.ended();
    expect(isLeft).toBe(true);
  });
});
