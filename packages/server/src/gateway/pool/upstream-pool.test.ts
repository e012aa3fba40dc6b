import { TestClock } from 'sluice/testing';
import { describe, expect, it, test } from 'vitest';
import type { UpstreamConfig } from '../../config/gateway-config.ts';
import { readConfig } from '../../config/read-config.ts';
import { UpstreamPool } from './upstream-pool.ts';

function poolOf(upstream: object, clock = new TestClock(0)) {
  const said: string[] = [];
  const log = { debug() {}, info: note, warn: note, error: note };
  function note(fields: object, message: string): void {
    said.push(`${(fields as { member?: string }).member}: ${message}`);
  }
  function configOf(changes: object): { readonly upstream: UpstreamConfig; readonly limits: never } {
    const read = readConfig({ text: JSON.stringify({ gateway: { upstreams: { app: { ...upstream, ...changes } } } }) });
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    const { upstreams, limits } = read.config.gateway!;
    return { upstream: upstreams.app!, limits: limits as never };
  }
  const { upstream: config, limits } = configOf({});
  const pool = new UpstreamPool(config, { clock, log, limits });
  const reconfigure = (changes: object) => pool.reconfigure(configOf(changes).upstream);
  return { pool, clock, said, reconfigure };
}

test('a member whose circuit has become half-open is usable, to whoever notices it first', () => {
  const { pool, clock } = poolOf({
    members: ['127.0.0.1:9'],
    outliers: false,
    breaker: { failureRatio: 0.5, minimumCalls: 1, open: '10s' },
  });
  const seen = () => pool.stats().members.map(({ circuit, share }) => [circuit, share > 0]);
  expect(seen()).toEqual([['closed', true]]);
  pool.pick(undefined, undefined)!.member.breaker!.trip();
  expect(seen()).toEqual([['open', false]]);
  clock.advance(10_000);
  expect(seen()).toEqual([['half-open', true]]);
  pool.close();
});

describe('another configuration', () => {
  const [bad, good] = ['127.0.0.1:8', '127.0.0.1:9'];
  const upstream = {
    members: [bad, good],
    balancer: 'least-connections',
    outliers: { consecutiveFailures: 2, ejection: '10s', longestEjection: '1m' },
    slowStart: '4s',
  };
  const changes: [what: string, change: object][] = [
    ['slowStart', { slowStart: '2s' }],
    ['health', { health: { path: '/healthz' } }],
    ['outliers', { outliers: { ...upstream.outliers, consecutiveFailures: 3 } }],
    ['balancer', { balancer: 'hash-ring', stickyBy: 'header:x-user' }],
  ];

  it.each(changes)('of %s keeps what is known of members, and what is under way', (_, change) => {
    const { pool, clock, said, reconfigure } = poolOf(upstream);
    const seen = () => pool.stats().members.map(({ share, inFlight, reasons }) => [share, inFlight, reasons.join()]);
    const onlyBad = new Set([good]);
    const [early, late] = [pool.pick('a', onlyBad)!, pool.pick('a', new Set([bad]))!];
    late.answered('ok');
    for (let i = 0; i < 2; i += 1) pool.pick('a', onlyBad)!.done('failed');
    const known = [
      [0, 1, 'outlier'],
      [1, 1, ''],
    ];
    expect(seen()).toEqual(known);
    clock.advance(4_000);
    reconfigure(change);
    expect(seen()).toEqual(known);
    early.done('ok');
    late.done('ok');
    expect(seen().map(([, inFlight]) => inFlight)).toEqual([0, 0]);
    // Its time goes on, and is not begun anew; then it warms up.
    clock.advance(5_999);
    expect(seen()[0]).toEqual([0, 0, 'outlier']);
    clock.advance(1);
    expect(seen()[0]).toEqual([0.1, 0, '']);
    expect(pool.stats().members[0]!.meter.ejections).toBe(1);
    expect(said).toEqual([`${bad}: a member is out`, `${bad}: a member is back`]);
    pool.close();
  });

  it('lets a member warm up that does, by its own time', () => {
    const { pool, clock, reconfigure } = poolOf(upstream);
    for (let i = 0; i < 2; i += 1) pool.pick('a', new Set([good]))!.done('failed');
    clock.advance(10_000);
    expect(pool.stats().members[0]!.share).toBe(0.1);
    clock.advance(2_000);
    expect(pool.stats().members[0]!.share).toBeCloseTo(0.55);
    reconfigure({ slowStart: '8s' });
    expect(pool.stats().members[0]!.share).toBeCloseTo(0.325);
    pool.close();
  });

  it('that asks no more about what held a member brings it back', () => {
    const { pool, said, reconfigure } = poolOf(upstream);
    for (let i = 0; i < 2; i += 1) pool.pick('a', new Set([good]))!.done('failed');
    reconfigure({ outliers: false });
    expect(pool.stats().members[0]).toMatchObject({ share: 1, reasons: [] });
    expect(said).toEqual([`${bad}: a member is out`, `${bad}: a member is back`]);
    pool.close();
  });
});
