/**
 * One path can be written in many ways: `/log-in`, `/%6Cog-in`, `/log%2Din`. Routers take some of them for one route and hand others to handlers
 * decoded, and what a rule does not recognise it does not limit. So rules see all of it decoded, also slashes:
 *
 *      /log%2Din      /log-in
 *      /caf%C3%A9     /café
 *      /a%2Fb  /a\b   /a/b        a rule for /a/b has to hold where a handler is given 'a/b'
 *      /100%25        /100%25     a percent sign stays as it is, or what it stands before would be read twice
 *      /%zz  /%ff     /%zz  /%ff  and so does what is no character
 *
 * Decoding twice changes nothing. Steps back (`/a/../b`) are left: to the routers of frameworks they are names like any other.
 */
export function decodedPath(path: string): string {
  if (!path.includes('%') && !path.includes('\\')) return path;
  return path
    .replace(escapes, (text, stray?: string) => (stray === undefined ? decodeURIComponent(text) : text))
    .replaceAll('\\', '/');
}

const tail = '%[89ab][\\da-f]';

// Only what is well-formed UTF-8 (RFC 3629, section 4), so that nothing is ever thrown, however many wrong ones there are.
const characters = [
  '%(?!25)[0-7][\\da-f]',
  `%(?:c[2-9a-f]|d[\\da-f])${tail}`,
  `%e(?:0%[ab]|d%[89]|[1-9a-cef]%[89ab])[\\da-f]${tail}`,
  `%f(?:0%[9ab]|4%8|[1-3]%[89ab])[\\da-f]${tail}${tail}`,
].join('|');

// What follows a stray percent sign stays too: in `%%36c`, the 6 would make an escape of it that was none.
const escapes = new RegExp(`(%(?![\\da-f]{2})[\\da-f]?(?:%[\\da-f]{2})?)|(?:${characters})+`, 'gi');
