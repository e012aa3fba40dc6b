import { TestClock } from 'sluice/testing';
import { expect, test } from 'vitest';
import { readConfig } from '../../config/read-config.ts';
import { UpstreamPool } from './upstream-pool.ts';

const text = `
gateway:
  upstreams:
    app: { members: ['127.0.0.1:9'], outliers: false, breaker: { failureRatio: 0.5, minimumCalls: 1, open: 10s } }
`;

test('a member whose circuit has become half-open is usable, to whoever notices it first', () => {
  const read = readConfig({ text });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  const { upstreams, limits } = read.config.gateway!;
  const clock = new TestClock(0);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const pool = new UpstreamPool(upstreams.app!, { clock, log, limits });
  const seen = () => pool.stats().members.map(({ circuit, share }) => [circuit, share > 0]);
  expect(seen()).toEqual([['closed', true]]);
  pool.pick(undefined, undefined)!.member.breaker!.trip();
  expect(seen()).toEqual([['open', false]]);
  clock.advance(10_000);
  expect(seen()).toEqual([['half-open', true]]);
  pool.close();
});
