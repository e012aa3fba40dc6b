/** `127.0.0.1:9001`, `http://api.internal:9001`, `[::1]:9001`: where a member is. */
export interface MemberAddress {
  /** `host:port`, one spelling for each. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

/** Of text that has the form of one. */
export function memberAddress(text: string): MemberAddress {
  const [, written = '', digits] = /^(?:http:\/\/)?(.+):(\d+)\/?$/.exec(text) ?? [];
  const port = Number(digits);
  const name = written.toLowerCase();
  return { id: `${name}:${port}`, host: name.replace(/^\[(.*)\]$/, '$1'), port };
}
