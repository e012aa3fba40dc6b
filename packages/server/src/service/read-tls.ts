/** The files of a TLS configuration, read. */
import { readFileSync } from 'node:fs';
import type { TlsConfig } from '../config/config.ts';
import type { TlsFiles } from './door.ts';

export function readTls(tls: TlsConfig | undefined): TlsFiles | undefined {
  return (
    tls && {
      cert: readFileSync(tls.certificate),
      key: readFileSync(tls.key),
      ca: tls.clientAuthority === undefined ? undefined : readFileSync(tls.clientAuthority),
    }
  );
}
