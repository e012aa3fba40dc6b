import { describe, expect, it } from 'vitest';
import { type AccessEntry, combinedLine, jsonLine } from './access-line.ts';

const entry: AccessEntry = {
  timeMs: Date.UTC(2026, 10, 15, 20, 34, 6, 123),
  durationMs: 12.3456,
  client: '203.0.113.9',
  method: 'GET',
  target: '/a?b=c',
  protocol: 'HTTP/1.1',
  host: 'shop.example',
  status: 200,
  bytes: 512,
  referer: '',
  userAgent: 'curl/8.0',
  route: 'api',
  rule: '',
  upstream: '10.0.0.1:9001',
  attempts: 2,
};

describe('the combined format', () => {
  it('is the one that everybody reads', () => {
    expect(combinedLine(entry)).toBe(
      '203.0.113.9 - - [15/Nov/2026:20:34:06 +0000] "GET /a?b=c HTTP/1.1" 200 512 "-" "curl/8.0"\n',
    );
  });

  const hostile: [text: string, written: string][] = [
    ['a"b', 'a\\x22b'],
    ['a\\b', 'a\\x5Cb'],
    ['a\r\n1.2.3.4 - - forged', 'a\\x0D\\x0A1.2.3.4 - - forged'],
    ['\u001b[2J', '\\x1B[2J'],
    ['caf\u00e9', 'caf\\xE9'],
    ['\u007f\u0085', '\\x7F\\x85'],
    ['\u2028', '?'],
  ];
  it.each(hostile)('%j cannot end its field', (text, written) => {
    const line = combinedLine({ ...entry, target: text, referer: text, userAgent: text });
    expect(line.slice(line.indexOf('"'))).toBe(`"GET ${written} HTTP/1.1" 200 512 "${written}" "${written}"\n`);
  });
});

describe('the JSON format', () => {
  it('says everything that is known', () => {
    expect(JSON.parse(jsonLine(entry))).toEqual({
      time: '2026-11-15T20:34:06.123Z',
      client: '203.0.113.9',
      method: 'GET',
      target: '/a?b=c',
      protocol: 'HTTP/1.1',
      host: 'shop.example',
      status: 200,
      bytes: 512,
      durationMs: 12.346,
      route: 'api',
      rule: null,
      upstream: '10.0.0.1:9001',
      attempts: 2,
      referer: null,
      userAgent: 'curl/8.0',
    });
  });

  it.each(['"}\n{"status":200', '\u2028', '\u007f', '\u009b31m', '\ud800', '\u001b[2J'])(
    '%j is one line of printable ASCII, and comes back as it was',
    (text) => {
      const line = jsonLine({ ...entry, target: text, userAgent: text, host: text });
      expect(line).toMatch(/^[\x20-\x7e]+\n$/);
      expect(JSON.parse(line)).toMatchObject({ target: text, userAgent: text, host: text });
    },
  );

  it('cuts what nobody would read', () => {
    expect(jsonLine({ ...entry, target: 'x'.repeat(100_000) }).length).toBeLessThan(5000);
  });
});
