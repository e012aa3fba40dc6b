/** A request as a line for a POSIX shell. */
export interface CurlRequest {
  readonly method: string;
  readonly address: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The token itself stays out of it: lines that are passed on end up in tickets. */
  readonly needsToken: boolean;
}

export function curlLine({ method, address, body, needsToken }: CurlRequest): string {
  const isPost = method === 'POST' && body !== undefined;
  const words = [`curl -i${isPost || method === 'GET' ? '' : ` -X ${method}`} ${quoted(address)}`];
  if (needsToken) words.push('-H "Authorization: Bearer $SLUICE_TOKEN"');
  if (body !== undefined) {
    words.push("-H 'Content-Type: application/json'");
    words.push(`-d ${quoted(JSON.stringify(body))}`);
  }
  return words.join(' \\\n  ');
}

/** One word for a shell, whatever is in it. */
export function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
