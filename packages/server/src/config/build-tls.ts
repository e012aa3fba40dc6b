/** The section `tls` of a door: its files, tried as the door will use them. Who asks only whether they are there learns the rest when it is too late. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Data, existing, type Given } from './build-values.ts';
import type { TlsConfig } from './config.ts';

/** The files of the section at this place, which is there. */
export function tlsOf(given: Given, path: readonly string[], tls: Data): TlsConfig {
  const { list } = given;
  const files: TlsConfig = {
    certificate: existing(given, [...path, 'certificate'], 'file'),
    key: existing(given, [...path, 'key'], 'file'),
    clientAuthority:
      tls.clientAuthority === undefined ? undefined : existing(given, [...path, 'clientAuthority'], 'file'),
  };
  if (list.has(...path)) return files;
  const why = whyUnusable(files);
  if (why !== undefined) list.add(path, `cannot be used: ${why}. Both are files in PEM.`, 'name');
  if (files.clientAuthority !== undefined && !hasCertificate(files.clientAuthority))
    list.add(
      [...path, 'clientAuthority'],
      `must be a file (PEM) with a certificate, and ${files.clientAuthority} has none that OpenSSL reads.`,
    );
  return files;
}

function whyUnusable({ certificate, key }: TlsConfig): string | undefined {
  try {
    createSecureContext({ cert: readFileSync(certificate), key: readFileSync(key) });
    return undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const why = code.includes('MISMATCH')
      ? 'the key is that of another certificate'
      : 'they are not what OpenSSL reads';
    return `${why} (${code || 'no code'})`;
  }
}

/** A secure context takes any text for its authorities; without a certificate in it every client would be refused. */
function hasCertificate(file: string): boolean {
  try {
    const text = readFileSync(file, 'latin1');
    // Alone it would also take the binary form, which a secure context passes over.
    return text.includes('-----BEGIN ') && new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}
