/** Where a value of a request comes from: a header, a cookie, a parameter of the query, a field of the subject. */
import type { Subject } from 'sluice';
import type { Source } from '../../config/gateway-config.ts';
import { Problem } from '../answer-problem.ts';
import type { HeaderList, RequestHead } from '../wire/message.ts';

/** Undefined where the request has no such value, or an empty one. */
export type SourceReader = (request: RequestHead, subject: Subject) => string | undefined;

/**
 * A value that comes twice, and differently, is refused: whichever of the two the gateway took, the member could take the other, and
 * whoever sends both would be limited as one and served as another.
 */
export function sourceReader({ from, name }: Source): SourceReader {
  switch (from) {
    case 'header': {
      const header = name.toLowerCase();
      return ({ headers }) => only(linesOf(headers, header), `The header ${name}`);
    }
    case 'cookie':
      return ({ headers }) => only(cookiesOf(headers, name), `The cookie ${name}`);
    case 'query':
      return ({ target }) => only(parametersOf(target, name), `The parameter ${name} of the query`);
    case 'field':
      return (_, subject) => textOf(subject[name]);
  }
}

function only(values: readonly string[] | undefined, what: string): string | undefined {
  if (values === undefined) return undefined;
  const [first] = values;
  if (values.some((value) => value !== first)) throw new Problem(400, `${what} is there more than once. Send one.`);
  return textOf(first);
}

function textOf(value: unknown): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : String(value);
}

/** The values of a header, a line each; undefined where there is none, which is most often. */
export function linesOf(headers: HeaderList, name: string): string[] | undefined {
  let lines: string[] | undefined;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== name) continue;
    lines ??= [];
    lines.push(headers[at + 1] as string);
  }
  return lines;
}

/** HTTP/2 may send each cookie as a line of its own (RFC 9113, 8.2.3). */
function cookiesOf(headers: HeaderList, name: string): string[] | undefined {
  const values: string[] = [];
  for (const line of linesOf(headers, 'cookie') ?? []) {
    for (const pair of line.split(';')) {
      const equals = pair.indexOf('=');
      if (equals > 0 && pair.slice(0, equals).trim() === name) values.push(unquoted(pair.slice(equals + 1).trim()));
    }
  }
  return values.length === 0 ? undefined : values;
}

function unquoted(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}

function parametersOf(target: string, name: string): string[] | undefined {
  const query = target.indexOf('?');
  if (query < 0) return undefined;
  const values = new URLSearchParams(target.slice(query + 1)).getAll(name);
  return values.length === 0 ? undefined : values;
}
