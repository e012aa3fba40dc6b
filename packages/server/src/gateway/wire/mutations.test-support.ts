/** Messages with a few things wrong with them, of the kind that readers have been fooled with. */
import fc from 'fast-check';

const scraps = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\n\n',
  '\0',
  '\t',
  ' ',
  '\x0b',
  '\x7f',
  '\xff',
  ':',
  ';',
  ',',
  '"',
  '\\',
  '/',
  '?',
  '#',
  '*',
  '%',
  '0',
  '5',
  'a',
  '-',
  '+',
  '_',
  '0x',
  'chunked',
  'HTTP/1.0',
  'HTTP/1.1',
  'GET ',
  'POST ',
  'HEAD ',
  'http://',
  'http://shop.example',
  'Host: other.example\r\n',
  'Content-Length: 3\r\n',
  'content-length:0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Connection: upgrade\r\nUpgrade: websocket\r\n',
  'Expect: 100-continue\r\n',
  'X-A: 1\r\n',
  ' X-A: 1\r\n',
  ';a=b',
  ';a="b"',
  '3\r\nabc\r\n',
  '0\r\n\r\n',
  '0\r\nX-A: 1\r\n\r\n',
  'GET /hidden HTTP/1.1\r\nHost: shop.example\r\n\r\n',
];

interface Mutation {
  readonly kind: 'insert' | 'replace' | 'remove' | 'repeat-line' | 'change-case';
  readonly place: number;
  readonly scrap: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom<Mutation['kind']>('insert', 'replace', 'remove', 'repeat-line', 'change-case'),
  place: fc.nat(1_000_000),
  scrap: fc.oneof(
    fc.constantFrom(...scraps),
    fc.nat(255).map((byte) => String.fromCharCode(byte)),
  ),
});

/** One of these messages, after one to four mutations. */
export function mutated(messages: readonly Buffer[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...messages), fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([message, mutations]) => Buffer.from(mutations.reduce(applied, message.toString('latin1')), 'latin1'));
}

function applied(text: string, { kind, place, scrap }: Mutation): string {
  const at = place % (text.length + 1);
  switch (kind) {
    case 'insert':
      return text.slice(0, at) + scrap + text.slice(at);
    case 'replace':
      return text.slice(0, at) + scrap + text.slice(at + scrap.length);
    case 'remove':
      return text.slice(0, at) + text.slice(at + 1 + (place % 3));
    case 'change-case': {
      const letter = text.charAt(at);
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      // Of ß there would be two.
      return other.length === 1 && other <= '\xff' ? text.slice(0, at) + other + text.slice(at + 1) : text;
    }
    case 'repeat-line': {
      const start = text.lastIndexOf('\n', at - 1) + 1;
      const end = text.indexOf('\n', at) + 1;
      return end === 0 ? text : text.slice(0, end) + text.slice(start);
    }
  }
}
