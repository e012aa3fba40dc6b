/** The files of TLS, wherever a door speaks it. */
import { path, type SettingSchema, section } from './schema-kinds.ts';

export function tlsSchema(description: string): SettingSchema {
  return section(
    { description },
    {
      certificate: path({ description: 'A file (PEM): the certificate, and those that lead to its authority.' }),
      key: path({ description: 'A file (PEM): the key of the certificate.' }),
      clientAuthority: path({ description: 'A file (PEM): clients must show a certificate of this authority.' }),
    },
    ['certificate', 'key'],
  );
}
