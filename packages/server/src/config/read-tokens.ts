/** A file of tokens, one per line. What is wrong with it is said by the file's name; what stands in it is never shown. */
import { readFileSync, statSync } from 'node:fs';
import { tokenForm, tokenPattern } from '../service/tokens.ts';
import { whyNot } from './why-not.ts';

/** More is not a list of tokens. */
const largestBytes = 1024 * 1024;

const isToken = new RegExp(tokenPattern);

export function readTokens(path: string): { readonly tokens: readonly string[] } | { readonly problem: string } {
  try {
    const { size } = statSync(path);
    if (size > largestBytes) return { problem: `names ${path}, which has ${size} bytes; the most is ${largestBytes}.` };
    const lines = readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.trim());
    const wrong = lines.findIndex((line) => line !== '' && !isToken.test(line));
    if (wrong !== -1) return { problem: `names ${path}, whose line ${wrong + 1} is no token: it ${tokenForm}.` };
    const tokens = lines.filter((line) => line !== '');
    // Nobody asks for a file of tokens in order to ask for no token.
    if (tokens.length === 0) return { problem: `names ${path}, which holds no token. Write one per line.` };
    return { tokens };
  } catch (error) {
    return { problem: `names ${path}, which cannot be read: ${whyNot(error)}` };
  }
}
