import { once } from 'node:events';
import { connect } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { seededRandom } from 'sluice/testing';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { fieldBlock } from './field-block.ts';
import { FieldReader, fieldListBytesMax } from './field-reader.ts';
import { endCodes } from './frame.ts';
import { FrameWriter } from './frame-writer.ts';
import type { RequestHead } from './request-head.ts';
import { Session } from './session.ts';

function readerOf(): (hex: string) => string[] {
  const reader = new FieldReader();
  return (hex) => {
    const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    return reader.read(bytes, 0, bytes.length).fields.map(({ name, value }) => `${name}: ${value}`);
  };
}

// RFC 7541, appendix C.
describe('the examples of the standard', () => {
  const requests = [
    [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
    [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
    [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
  ];
  test.each([
    [
      'C.2.1, a field that is added',
      '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      'custom-key: custom-header',
    ],
    ['C.2.2, a field that is not', '040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path'],
    ['C.2.3, a field that never is', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret'],
    ['C.2.4, a field by its number', '82', ':method: GET'],
  ])('%s', (_what, hex, field) => {
    expect(readerOf()(hex)).toEqual([field]);
  });

  test('C.3, requests in plain text', () => {
    const read = readerOf();
    expect(read('8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d')).toEqual(requests[0]);
    expect(read('8286 84be 5808 6e6f 2d63 6163 6865')).toEqual(requests[1]);
    expect(read('8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65')).toEqual(requests[2]);
  });

  test("C.4, requests in Huffman's code", () => {
    const read = readerOf();
    expect(read('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).toEqual(requests[0]);
    expect(read('8286 84be 5886 a8eb 1064 9cbf')).toEqual(requests[1]);
    expect(read('8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf')).toEqual(requests[2]);
  });

  test('C.6, answers, whose fields push one another out of a table of 256 bytes', () => {
    const read = readerOf();
    const date = 'date: Mon, 21 Oct 2013 20:13:21 GMT';
    const location = 'location: https://www.example.com';
    const first =
      '3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3';
    expect(read(first)).toEqual([':status: 302', 'cache-control: private', date, location]);
    expect(read('4883 640e ffc1 c0bf')).toEqual([':status: 307', 'cache-control: private', date, location]);
    expect(
      read(
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ),
    ).toEqual([
      ':status: 200',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:22 GMT',
      location,
      'content-encoding: gzip',
      'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    ]);
  });
});

describe('a block that is wrong', () => {
  test.each([
    ['the number 0', '80', 'there is no field 0'],
    ['a number that is not in the table', 'be', 'there is no field 62'],
    ['a number without its end', 'ff80', 'ends in the middle'],
    ['a number without end', 'ff808080808000', 'a number is too large'],
    ['a text that is longer than the block', '400361', 'ends in the middle'],
    ['a text without its length', '40', 'ends in the middle'],
    ['a table of another size behind a field', '8220', 'before the fields'],
    ['a table that is larger than was allowed', '3fe21f', 'must be at most 4096 bytes, got 4097'],
    ["the end of a text in Huffman's code", '4084ffffffff0161', 'the sign for the end'],
    ['a byte of padding', '4082 1fff 0161', 'filled up with ones'],
    ['padding with a zero', '4081 1e 0161', 'filled up with ones'],
  ])('%s', (_what, hex, why) => {
    expect(() => readerOf()(hex)).toThrow(
      expect.objectContaining({ code: endCodes.compressionError, message: expect.stringContaining(why) }),
    );
  });
});

test('a field that is larger than the table empties it', () => {
  const read = readerOf();
  const large = `40 01 61 7f e11f ${'62'.repeat(4192)}`;
  read('4001 61 01 62');
  expect(read('be')).toEqual(['a: b']);
  read(large);
  expect(() => read('be')).toThrow('there is no field 62');
});

test('a list that is too long ends where it became so, and the table goes on', () => {
  const reader = new FieldReader();
  const field = Buffer.concat([Buffer.of(0x40, 1, 0x61, 0x7f, 0xa1, 0x1e), Buffer.alloc(4000, 0x62)]);
  const bytes = Buffer.concat([field, Buffer.alloc(60, 0xbe)]);
  const { fields, isTooLong } = reader.read(bytes, 0, bytes.length);
  expect(isTooLong).toBe(true);
  expect(fields).toHaveLength(Math.floor(fieldListBytesMax / 4033));
  expect(reader.read(Buffer.of(0xbe), 0, 1)).toMatchObject({ isTooLong: false, fields: [{ name: 'a' }] });
});

test('what is written can be read', () => {
  const fields = {
    ':status': '200',
    'content-type': 'application/grpc',
    'x-long': 'y'.repeat(5000),
    'x-empty': '',
    date: 'now',
  };
  const bytes = fieldBlock(fields);
  const read = new FieldReader().read(bytes, 0, bytes.length);
  expect(Object.fromEntries(read.fields.map(({ name, value }) => [name, value]))).toEqual(fields);
});

// Node's client is nghttp2, as Envoy's was: it adds to the table, pushes out of it, and packs what becomes shorter.
test('requests of another implementation arrive as they were sent', async () => {
  const random = seededRandom(inject('propertySeed'));
  const below = (most: number) => Math.floor(random() * most);
  const heads: RequestHead[] = [];
  const writer = new FrameWriter();
  const ok = fieldBlock({ ':status': '200' });
  const server = createServer((socket) => {
    const session = new Session(
      socket,
      writer,
      { streamsMax: 1000, windowBytes: 65_535 },
      {
        openStreams: 0,
        wantsMore: true,
        takes(stream, head) {
          heads.push(head);
          stream.reader = { received() {}, receivedAll: () => stream.refuse(ok), closed() {} };
          return true;
        },
        takesTooLong: () => expect.unreachable(),
        greeted() {},
        ponged() {},
        broken: (error) => socket.destroy(error),
      },
    );
    socket.on('data', (chunk) => session.receive(chunk));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
    (text) => !/[\0\r\n]/.test(text),
  );
  const textOf = (length: number) =>
    Array.from({ length }, () => characters[below(random() < 0.5 ? 90 : characters.length)]).join('');
  const sent: Record<string, string>[] = [];
  for (let round = 0; round < 400; round++) {
    // Names come again, so that some are in the table by then; values of few bits make the whole shorter, and so packed.
    const fields: Record<string, string> = { ':path': `/${round}` };
    for (let times = below(8); times > 0; times--) {
      fields[`x-${below(30)}`] = `a${textOf(below(40))}${'a'.repeat(below(2) * below(300))}`.trimEnd();
    }
    sent.push(fields);
    const stream = client.request(fields);
    stream.resume();
    await once(stream, 'close');
  }
  const received = heads.map(({ fields }) =>
    Object.fromEntries(
      fields.filter(({ name }) => name === ':path' || name.startsWith('x-')).map(({ name, value }) => [name, value]),
    ),
  );
  expect(received).toEqual(sent);
});
