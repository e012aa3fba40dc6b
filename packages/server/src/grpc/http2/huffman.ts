/**
 * The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: shorter codes come first, and those of one length are counted up in the order of their
 * symbols. So the lengths say everything.
 */
import { BrokenProtocol, endCodes } from './frame.ts';

const symbolCount = 257;
/** It has a code so that nothing else begins with only ones, which is what the last byte is filled up with. */
const endOfString = 256;
// A length for each symbol, in letters from A, which is 5.
const lengths =
  'ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJBKABABABBBACCBBBABCBAABCCCCCKGJIX' +
  'PRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ';

/** A tree in pairs: for each node what follows 0 and what follows 1. Above 0: the node; below: a symbol, `~symbol`. */
const tree = buildTree();

function buildTree(): Int16Array {
  const nodes: number[] = [0, 0];
  const symbols = Array.from({ length: symbolCount }, (_, symbol) => symbol);
  const lengthOf = (symbol: number) => lengths.charCodeAt(symbol) - 65 + 5;
  symbols.sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code *= 2 ** (lengthOf(symbol) - length);
    length = lengthOf(symbol);
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const at = 2 * node + ((code >>> bit) & 1);
      if (nodes[at] === 0) {
        nodes[at] = nodes.length / 2;
        nodes.push(0, 0);
      }
      node = nodes[at]!;
    }
    nodes[2 * node + (code & 1)] = ~symbol;
    code += 1;
  }
  return Int16Array.from(nodes);
}

let scratch = Buffer.allocUnsafeSlow(256);

/** The text that some bytes stand for, a character for each byte of it. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string {
  // The shortest code has five bits.
  const most = Math.ceil(((end - start) * 8) / 5);
  if (scratch.length < most) scratch = Buffer.allocUnsafeSlow(2 * most);
  let length = 0;
  let node = 0;
  let bits = 0;
  let areOnes = true;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >>> bit) & 1;
      const next = tree[2 * node + one]!;
      bits += 1;
      areOnes &&= one === 1;
      if (next > 0) {
        node = next;
        continue;
      }
      if (~next === endOfString) throw badHuffman('it has the sign for the end of a text');
      scratch[length++] = ~next;
      node = 0;
      bits = 0;
      areOnes = true;
    }
  }
  if (bits > 7 || !areOnes) throw badHuffman('its last byte is not filled up with ones');
  return scratch.toString('latin1', 0, length);
}

const badHuffman = (why: string) =>
  new BrokenProtocol(endCodes.compressionError, `a header has an invalid Huffman code: ${why}`);
