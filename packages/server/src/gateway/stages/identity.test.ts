import type { Subject } from 'sluice';
import { describe, expect, it } from 'vitest';
import { formatProblems } from '../../config/format-problems.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Exchange } from '../exchange.ts';
import { identityOf } from './identity.ts';

function identity(yaml: string) {
  const read = readConfig({ text: `gateway:\n  upstreams: { api: { members: [a:1] } }\n${yaml}` });
  if ('problems' in read) throw new Error(formatProblems(read.problems, read.sources));
  return identityOf(read.config.gateway!);
}

const known = { ip: '203.0.113.9', route: 'api' };

function described(yaml: string, headers: readonly string[]): Subject {
  const request = { method: 'GET', target: '/', authority: 'a.example', headers };
  return identity(yaml).describe({ request } as unknown as Exchange, known);
}

// Each goes by x-who, and says so in another place.
const readers: [what: string, yaml: string][] = [
  ['identify', '  identify: { user: header:X-Who }'],
  [
    'tenant',
    '  admissions: { main: { concurrency: 1, tenant: header:x-who } }\n  routes: [{ name: all, admission: main }]',
  ],
  [
    'priority',
    '  admissions: { main: { concurrency: 1, priority: header:x-who } }\n  routes: [{ name: all, admission: main }]',
  ],
  ['a route', '  routes: [{ name: beta, match: { headers: { X-Who: "*" } } }]'],
];
const sticky = `gateway:\n  upstreams: { api: { members: [a:1], balancer: hash-ring, stickyBy: header:x-who } }`;

describe('a header that is gone by', () => {
  const tricks: [what: string, headers: string[]][] = [
    ['Connection names it', ['x-who', 'ann', 'connection', 'x-who']],
    ['Connection names it among others', ['connection', 'close, X-Who', 'x-who', 'ann']],
    ['a second Connection names it', ['connection', 'keep-alive', 'connection', 'x-who', 'x-who', 'ann']],
    ['Connection names it, and it is not there', ['connection', 'x-who']],
    ['it is there with another mark', ['x_who', 'bob']],
    ['it is there with another mark too', ['x-who', 'ann', 'x.who', 'bob']],
  ];
  const rows = readers.flatMap(([reader, yaml]) =>
    tricks.map(([trick, headers]) => [reader, trick, yaml, headers] as const),
  );
  it.each(rows)('of %s is refused where %s', (_, _trick, yaml, headers) => {
    expect(() => described(yaml, headers)).toThrow(expect.objectContaining({ status: 400 }));
  });

  it.each(readers)('of %s is taken where nothing hides it', (_, yaml) => {
    const headers = ['connection', 'close, x-other', 'x-who', 'ann', 'x-other', '1', 'x_other', '2', 'x-whom', '3'];
    expect(described(yaml, headers)).toMatchObject(known);
  });

  it('of a sticky key is refused where the member would not see it', () => {
    const read = readConfig({ text: sticky });
    if ('problems' in read) throw new Error(formatProblems(read.problems, read.sources));
    const own = identityOf(read.config.gateway!);
    const exchangeOf = (headers: string[]) => ({ request: { headers } }) as unknown as Exchange;
    for (const [, headers] of tricks)
      expect(() => own.describe(exchangeOf(headers), known)).toThrow(expect.objectContaining({ status: 400 }));
    expect(own.describe(exchangeOf(['x-who', 'ann']), known)).toBe(known);
  });

  it('may itself have another mark, and then the plain one is refused', () => {
    const yaml = '  identify: { user: header:x_who }';
    expect(described(yaml, ['x_who', 'ann'])).toEqual({ ...known, user: 'ann' });
    expect(() => described(yaml, ['x-who', 'ann'])).toThrow('Spell it x_who.');
  });

  it('may be named where it reaches the member all the same, or never would', () => {
    const route = '  routes: [{ name: chat, match: { headers: { upgrade: websocket, cookie: "*" } } }]';
    const headers = ['connection', 'Upgrade, cookie', 'upgrade', 'websocket', 'cookie', 'a=b'];
    expect(described(route, headers)).toBe(known);
  });
});

it('nothing is refused where nobody goes by headers', () => {
  expect(
    described('  identify: { user: cookie:sid }', ['connection', 'x-who', 'x_who', '1', 'cookie', 'sid=ann']),
  ).toEqual({
    ...known,
    user: 'ann',
  });
});
