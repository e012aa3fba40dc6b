import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { curlLine, quoted } from './curl-line.ts';

/** What a shell makes of the words. */
function wordsOf(line: string, environment: Readonly<Record<string, string>> = {}): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`;
  const text = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { ...process.env, ...environment } });
  return text.split('\0').slice(0, -1);
}

test('a check is posted as JSON', () => {
  const body = { subject: { user: 'o\'brien $(id) `id` \\ "', path: '/a b' } };
  const line = curlLine({ method: 'POST', address: 'http://127.0.0.1:8080/v1/check', body, needsToken: false });
  expect(wordsOf(line)).toEqual([
    '-i',
    'http://127.0.0.1:8080/v1/check',
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify(body),
  ]);
});

test('the token is the one of the shell that runs it', () => {
  const line = curlLine({ method: 'DELETE', address: 'http://host/v1/keys/a/b?c', needsToken: true });
  expect(wordsOf(line, { SLUICE_TOKEN: 'secret' })).toEqual([
    '-i',
    '-X',
    'DELETE',
    'http://host/v1/keys/a/b?c',
    '-H',
    'Authorization: Bearer secret',
  ]);
});

test('a shell reads back whatever was quoted', () => {
  const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((one) => !one.includes('\0'));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
      expect(wordsOf(`curl ${texts.map(quoted).join(' ')}`)).toEqual(texts);
    }),
    { numRuns: 20 },
  );
});
