import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../service/certificates.test-support.ts';
import { problemLine } from './format-problems.ts';
import { readConfig } from './read-config.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'build-tls-'));
  const { server, client, ca } = await makeCertificates();
  for (const [name, text] of [
    ['server.crt', server.cert],
    ['server.key', server.key],
    ['client.key', client.key],
    ['authority.crt', ca],
    // Certificates are often kept with the key that belongs to them.
    ['both.pem', Buffer.concat([server.key, server.cert])],
    ['binary.crt', new X509Certificate(ca).raw],
    ['torn.crt', ca.subarray(0, ca.length / 2)],
    ['text', Buffer.from('x')],
  ] as const)
    writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

const upstreams = 'upstreams: { api: { members: [a:1] } }';

describe.each([
  ['security', (tls: string) => `security:\n  tls: ${tls}\n`],
  ['gateway', (tls: string) => `gateway:\n  tls: ${tls}\n  ${upstreams}\n`],
])('the files of %s.tls', (section, textOf) => {
  function problemsOf(files: Record<string, string>): string[] {
    const fields = Object.entries(files).map(([field, name]) => `${field}: ${join(folder, name)}`);
    const read = readConfig({ text: textOf(`{ ${fields.join(', ')} }`) });
    return 'problems' in read ? read.problems.map(problemLine) : [];
  }

  test.each([
    { certificate: 'server.crt', key: 'server.key' },
    { certificate: 'server.crt', key: 'server.key', clientAuthority: 'authority.crt' },
    { certificate: 'both.pem', key: 'both.pem', clientAuthority: 'both.pem' },
  ])('may be %j', (files) => {
    expect(problemsOf(files)).toEqual([]);
  });

  test.each([
    ['server.crt', 'client.key', 'the key is that of another certificate (ERR_OSSL_X509_KEY_VALUES_MISMATCH)'],
    ['text', 'server.key', 'they are not what OpenSSL reads (ERR_OSSL_PEM_NO_START_LINE)'],
  ])('may not be %s with %s', (certificate, key, why) => {
    expect(problemsOf({ certificate, key })).toEqual([
      `configuration:2:3  ${section}.tls cannot be used: ${why}. Both are files in PEM.`,
    ]);
  });

  // A secure context takes all of these without a word, and then refuses every client.
  test.each(['server.key', 'text', 'binary.crt', 'torn.crt'])('have no authority in %s', (clientAuthority) => {
    const [line, ...others] = problemsOf({ certificate: 'server.crt', key: 'server.key', clientAuthority });
    expect(others).toEqual([]);
    expect(line).toMatch(/^configuration:2:\d+ {2}/);
    expect(line).toContain(
      `${section}.tls.clientAuthority must be a file (PEM) with a certificate, and ${join(folder, clientAuthority)} has none that OpenSSL reads.`,
    );
  });
});
