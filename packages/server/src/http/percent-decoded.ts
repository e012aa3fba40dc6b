/** A rule or a key as it stands in a target, decoded. What would silently become another key is refused. */
import { Problem, shown } from './problem.ts';
import { mustBeStorableText } from './read-json.ts';

export interface EncodedPart {
  readonly name: string;
  readonly place: 'path' | 'query';
  /** The most that it may be. */
  readonly keyBytes: number;
}

export function percentDecoded(part: string, { name, place, keyBytes }: EncodedPart): string {
  // Node hands bytes above ASCII on as if they were Latin-1: whatever was meant, it is not what arrives.
  if (/[^\x21-\x7e]/.test(part))
    throw new Problem(
      400,
      `${name} must be percent-encoded in the ${place}, got ${shown(part)}. Write what is not ASCII as UTF-8, such as %C3%BC.`,
    );
  let text: string;
  try {
    text = decodeURIComponent(part);
  } catch {
    throw new Problem(
      400,
      `${name} must be percent-encoded UTF-8 in the ${place}, got ${shown(part)}. A percent sign itself is written %25.`,
    );
  }
  mustBeStorableText(text, name);
  const bytes = Buffer.byteLength(text);
  if (bytes > keyBytes)
    throw new Problem(400, `${name} must be at most ${keyBytes} bytes long, got ${bytes}: ${shown(text)}.`);
  return text;
}
