import { describe, expect, it } from 'vitest';
import type { Exchange } from '../exchange.ts';
import { forwardingHeaders } from '../stages/forwarding-headers.ts';
import { isClaim } from './claims.ts';
import type { MessageLimits } from './message.ts';
import { Trailers } from './trailers.ts';

const limits: MessageLimits = { headBytes: 1000, headers: 10 };
const client = { address: '203.0.113.9', port: 1, localPort: 80, isTls: false, protocol: 'HTTP/1.1' };

const claims = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-anything',
  'x.forwarded.for',
  'x_forwarded-host',
  'x-real-ip',
  'x_real.ip',
  'client-ip',
  'client~ip',
  'x-client-ip',
  'true-client-ip',
  'true_client_ip',
  'cf-connecting-ip',
  'x-cluster-client-ip',
  'fastly-client-ip',
];
const others = ['x-forwarded', 'x-sum', 'x_sum', 'x-real-ip-of-mine', 'client', 'forwarded-for'];

function trailersOf(name: string): readonly string[] {
  const trailers = new Trailers(limits);
  trailers.read(Buffer.from(`${name}: made-up\r\nx-sum: 1\r\n\r\n`), 0);
  return trailers.headers;
}

function headersOf(name: string): readonly string[] {
  const request = { method: 'GET', target: '/', authority: 'a.example', headers: [name, 'made-up'] };
  return forwardingHeaders({ request, client } as unknown as Exchange, false);
}

describe('a stranger says who it is', () => {
  it.each(claims)('%s is passed on neither before the body nor behind it', (name) => {
    expect(isClaim(name)).toBe(true);
    expect(headersOf(name)).not.toContain('made-up');
    expect(trailersOf(name)).toEqual(['x-sum', '1']);
  });

  it.each(others)('%s is passed on: it says something else', (name) => {
    expect(isClaim(name)).toBe(false);
    expect(headersOf(name)).toContain('made-up');
    expect(trailersOf(name)).toEqual([name, 'made-up', 'x-sum', '1']);
  });
});
