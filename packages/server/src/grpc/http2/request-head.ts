/** What the header fields of a request say, where they may say it (RFC 9113, 8.3.1). */
import type { Field } from './field-table.ts';

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly fields: readonly Field[];
}

/** Undefined where they are no request. */
export function requestHeadOf(fields: readonly Field[]): RequestHead | undefined {
  let method: string | undefined;
  let path: string | undefined;
  let scheme: string | undefined;
  let authority: string | undefined;
  let isHead = true;
  for (const field of fields) {
    const { name, value } = field;
    if (!field.isAllowed) return undefined;
    if (!isPseudo(field)) {
      isHead = false;
      continue;
    }
    if (!isHead) return undefined;
    if (name === ':method' && method === undefined) method = value;
    else if (name === ':path' && path === undefined) path = value;
    else if (name === ':scheme' && scheme === undefined) scheme = value;
    else if (name === ':authority' && authority === undefined) authority = value;
    else return undefined;
  }
  if (!method || !path || !scheme) return undefined;
  return { method, path, fields };
}

/** Says what the request is: its method, its path. */
export const isPseudo = ({ name }: Field) => name.charCodeAt(0) === 0x3a;

/** Trailers have no fields that say what the request is. */
export const areTrailers = (fields: readonly Field[]) => fields.every((field) => field.isAllowed && !isPseudo(field));

/** The value of a field. Of one that came several times all of them, as a list: no rule says which of them counts, and the list is no valid text. */
export function fieldOf({ fields }: RequestHead, name: string): string | undefined {
  let found: string | undefined;
  for (const field of fields) {
    if (field.name === name) found = found === undefined ? field.value : `${found}, ${field.value}`;
  }
  return found;
}

/** How many bytes the body will have; undefined where that is not said, NaN where it is said wrongly. */
export function contentLengthOf(head: RequestHead): number | undefined {
  const text = fieldOf(head, 'content-length');
  if (text === undefined) return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}
