/** An authority and what it signed, made by openssl for this run of the tests. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureDebianPackage } from '@sluice/test-servers';

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface Certificates {
  /** Of the authority. */
  readonly ca: Buffer;
  /** For 127.0.0.1 and localhost. */
  readonly server: Certificate;
  readonly client: Certificate;
  /** Signed by somebody else. */
  readonly stranger: Certificate;
}

export async function makeCertificates(): Promise<Certificates> {
  const openssl = await ensureDebianPackage('openssl', ['openssl']);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-certificates-'));
  const run = (...args: string[]) => execFileSync(openssl, args, { cwd: folder, stdio: 'pipe' });
  const read = (name: string): Certificate => ({
    cert: readFileSync(join(folder, `${name}.crt`)),
    key: readFileSync(join(folder, `${name}.key`)),
  });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const authority = (name: string) =>
    run(
      'req',
      '-x509',
      ...curve,
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
    );
  const signed = (name: string, by: string) => {
    writeFileSync(join(folder, `${name}.ext`), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    run('req', ...curve, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const authorityFiles = ['-CA', `${by}.crt`, '-CAkey', `${by}.key`, '-CAcreateserial'];
    run(
      'x509',
      '-req',
      '-days',
      '2',
      '-in',
      `${name}.csr`,
      ...authorityFiles,
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.crt`,
    );
  };
  try {
    authority('authority');
    authority('elsewhere');
    signed('server', 'authority');
    signed('client', 'authority');
    signed('stranger', 'elsewhere');
    return { ca: read('authority').cert, server: read('server'), client: read('client'), stranger: read('stranger') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
