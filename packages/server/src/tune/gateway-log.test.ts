import { logReader } from '@sluice/tuner';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AccessEntry, combinedLine, jsonLine } from '../gateway/report/access-line.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 50 });

/** What a client can put into a log of the gateway, and what it cannot. */
const anyEntry: fc.Arbitrary<AccessEntry> = fc.record({
  timeMs: fc.integer({ min: 0, max: Date.UTC(2100, 0) }),
  durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  client: fc.ipV4(),
  method: fc.constantFrom('GET', 'POST', 'M-SEARCH'),
  target: anyText.map((text) => `/${text}`),
  protocol: fc.constantFrom('HTTP/1.1', 'HTTP/2.0'),
  host: anyText,
  status: fc.integer({ min: 200, max: 599 }),
  bytes: fc.nat(),
  referer: anyText,
  userAgent: anyText,
  route: anyText,
  rule: anyText,
  upstream: anyText,
  attempts: fc.nat(5),
});

const formats = { combined: { lineOf: combinedLine, clockMs: 1000 }, json: { lineOf: jsonLine, clockMs: 1 } };

it.each(['combined', 'json'] as const)('the tuner reads every line of the gateway in %s', (format) => {
  const { lineOf, clockMs } = formats[format];
  fc.assert(
    fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 5 }), (entries) => {
      const calls: object[] = [];
      const reader = logReader({}, ({ atMs, status, client: { bytes, start, end } }) => {
        calls.push({ atMs, status, client: Buffer.from(bytes.subarray(start, end)).toString() });
      });
      for (const entry of entries) reader.push(Buffer.from(lineOf(entry)));
      reader.end();
      expect(reader.report()).toMatchObject({ format, read: entries.length, malformed: 0 });
      const expected = entries.map(({ timeMs, status, client }) => {
        return { atMs: Math.floor(timeMs / clockMs) * clockMs, status, client };
      });
      expect(calls).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

it.each(['combined', 'json'] as const)('the route in %s is method and path, without the query', (format) => {
  const [entry] = fc.sample(anyEntry, { numRuns: 1, seed: 1 });
  const routes: string[] = [];
  const reader = logReader({}, ({ route: { bytes, start, end } }) => {
    routes.push(Buffer.from(bytes.subarray(start, end)).toString());
  });
  reader.push(Buffer.from(formats[format].lineOf({ ...entry!, method: 'GET', target: '/orders/7?page=2' })));
  reader.end();
  expect(routes).toEqual(['GET /orders/7']);
});
