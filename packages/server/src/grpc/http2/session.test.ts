// Bytes in, bytes out: what the standard (RFC 9113) asks of a server, and where it lets one choose.
import { describe, expect, test } from 'vitest';
import { fieldBlock } from './field-block.ts';
import { clientPreface, endCodes, frameFlags, frameTypes, settingIds } from './frame.ts';
import {
  Conversation,
  data,
  endOfRequest,
  frame,
  headers,
  numbers,
  requestBlock,
  settings,
  windowOf,
} from './session.test-support.ts';

const ok = fieldBlock({ ':status': '200' });
const end = fieldBlock({ 'grpc-status': '0' });
const endText = end.toString('hex');

const answerWith = (bytes: Buffer) => (stream: Conversation['requests'][number]['stream']) => {
  stream.respond(ok);
  stream.send(bytes);
  stream.end(end);
};

function greeted(limits = {}, values = {}): Conversation {
  const conversation = new Conversation(limits).greet(values);
  conversation.answer = answerWith(Buffer.from('hello'));
  return conversation;
}

describe('the greeting', () => {
  test('is answered with what a client may do', () => {
    const conversation = new Conversation({ streamsMax: 7, windowBytes: 70_000 });
    conversation.say(clientPreface);
    const [first, second] = conversation.told();
    expect(first).toMatchObject({ type: 'settings', flags: 0, streamId: 0 });
    expect(first!.payload.toString('hex')).toBe('00030000000700040001117000060001' + '0000');
    expect(second).toMatchObject({ type: 'windowUpdate', streamId: 0 });
    expect(conversation.greetings).toBe(0);
    conversation.say(settings());
    expect(conversation.toldInWords()).toEqual(['settings 0 answer']);
    expect(conversation.greetings).toBe(1);
    conversation.say(settings());
    expect(conversation.greetings).toBe(1);
  });

  test('and all that follows may come in single bytes', () => {
    const conversation = new Conversation();
    conversation.answer = answerWith(Buffer.from('hello'));
    conversation.spell(clientPreface, settings(), headers(1), data(1, '6162'), data(1, '63', true));
    expect(conversation.toldInWords().slice(2)).toEqual([
      'settings 0 answer',
      'headers 1 88',
      'data 1 68656c6c6f',
      `headers 1 ${endText} last`,
    ]);
    expect(conversation.requests).toMatchObject([
      { body: Buffer.from('abc'), isWhole: true, isClosed: true, head: { method: 'POST', path: '/' } },
    ]);
  });

  test.each([
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 0],
    ['a preface that goes wrong late', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\rX'), 0],
    [
      'a first frame that is not SETTINGS',
      Buffer.concat([clientPreface, frame(frameTypes.ping, 0, 0, Buffer.alloc(8))]),
      1,
    ],
    [
      'SETTINGS that only acknowledge',
      Buffer.concat([clientPreface, frame(frameTypes.settings, frameFlags.acknowledge, 0)]),
      1,
    ],
  ])('%s ends the connection', (_what, bytes, goAways) => {
    const conversation = new Conversation().say(bytes);
    expect(conversation.brokenBy).toMatchObject({ code: endCodes.protocolError });
    expect(conversation.told().filter(({ type }) => type === 'goAway')).toHaveLength(goAways);
    // Nothing more is read.
    conversation.say(clientPreface, settings(), headers(1));
    expect(conversation.requests).toEqual([]);
  });
});

describe('what breaks the protocol ends the connection with its reason', () => {
  const { protocolError, frameSizeError, flowControlError, compressionError, enhanceYourCalm } = endCodes;
  const {
    data: DATA,
    priority,
    reset,
    settings: SETTINGS,
    pushPromise,
    ping,
    goAway,
    windowUpdate,
    continuation,
  } = frameTypes;
  const rows: [what: string, bytes: readonly Buffer[], code: number][] = [
    ['a frame that is too large', [frame(DATA, 0, 1, Buffer.alloc(16_385))], frameSizeError],
    ['DATA of no stream', [data(0, '00')], protocolError],
    ['DATA of a stream that was not begun', [data(1, '00')], protocolError],
    ['DATA of a stream of the server', [headers(3), data(2, '00')], protocolError],
    ['DATA with more padding than bytes', [headers(1), frame(DATA, frameFlags.padded, 1, '0500')], protocolError],
    ['DATA with padding and nothing else', [headers(1), frame(DATA, frameFlags.padded, 1)], protocolError],
    ['HEADERS of no stream', [headers(0)], protocolError],
    ['HEADERS of a stream of the server', [headers(2)], protocolError],
    ['HEADERS that begin a stream after a later one', [headers(5), headers(3)], protocolError],
    [
      'HEADERS that begin a stream again',
      [headers(1, Buffer.of(0x83), endOfRequest), headers(1, requestBlock, endOfRequest)],
      protocolError,
    ],
    [
      'HEADERS with more padding than bytes',
      [headers(1, Buffer.of(9, 0x83), frameFlags.endHeaders | frameFlags.padded)],
      protocolError,
    ],
    [
      'HEADERS with half a priority',
      [headers(1, Buffer.of(0, 0), frameFlags.endHeaders | frameFlags.priority)],
      protocolError,
    ],
    ['a header block that refers to nothing', [headers(1, Buffer.of(0xff, 0x7f))], compressionError],
    ['a header block that ends early', [headers(1, Buffer.of(0x40, 0x05, 0x61))], compressionError],
    [
      'a frame between HEADERS and CONTINUATION',
      [headers(1, requestBlock, 0), frame(ping, 0, 0, Buffer.alloc(8))],
      protocolError,
    ],
    ['a CONTINUATION of another stream', [headers(1, requestBlock, 0), frame(continuation, 0, 3)], protocolError],
    ['a CONTINUATION of nothing', [frame(continuation, frameFlags.endHeaders, 1)], protocolError],
    [
      'a CONTINUATION after the end of the headers',
      [headers(1), frame(continuation, frameFlags.endHeaders, 1)],
      protocolError,
    ],
    [
      'CONTINUATIONs without an end',
      [headers(1, requestBlock, 0), ...Array.from({ length: 17 }, () => frame(continuation, 0, 1))],
      enhanceYourCalm,
    ],
    [
      'a header block without an end',
      [
        headers(1, requestBlock, 0),
        ...Array.from({ length: 5 }, () => frame(continuation, 0, 1, Buffer.alloc(16_000))),
      ],
      enhanceYourCalm,
    ],
    ['PRIORITY of no stream', [frame(priority, 0, 0, Buffer.alloc(5))], protocolError],
    ['PRIORITY without its bytes', [frame(priority, 0, 1, Buffer.alloc(4))], frameSizeError],
    ['RST_STREAM of no stream', [frame(reset, 0, 0, numbers(8))], protocolError],
    ['RST_STREAM of a stream that was not begun', [frame(reset, 0, 1, numbers(8))], protocolError],
    ['RST_STREAM without its bytes', [headers(1), frame(reset, 0, 1, '00')], frameSizeError],
    ['SETTINGS of a stream', [frame(SETTINGS, 0, 1)], protocolError],
    ['SETTINGS that are cut', [frame(SETTINGS, 0, 0, Buffer.alloc(7))], frameSizeError],
    [
      'SETTINGS that acknowledge and say something',
      [frame(SETTINGS, frameFlags.acknowledge, 0, Buffer.alloc(6))],
      frameSizeError,
    ],
    ['SETTINGS with a push that is neither on nor off', [settings({ [settingIds.enablePush]: 2 })], protocolError],
    ['SETTINGS with a window that is too large', [settings(windowOf(2 ** 31))], flowControlError],
    ['SETTINGS with frames that are too small', [settings({ [settingIds.payloadBytes]: 16_383 })], protocolError],
    ['SETTINGS with frames that are too large', [settings({ [settingIds.payloadBytes]: 2 ** 24 })], protocolError],
    ['a push by a client', [frame(pushPromise, frameFlags.endHeaders, 1, numbers(2))], protocolError],
    ['PING of a stream', [frame(ping, 0, 1, Buffer.alloc(8))], protocolError],
    ['PING without its bytes', [frame(ping, 0, 0, Buffer.alloc(7))], frameSizeError],
    ['GOAWAY of a stream', [frame(goAway, 0, 1, numbers(0, 0))], protocolError],
    ['GOAWAY without its bytes', [frame(goAway, 0, 0, numbers(0))], frameSizeError],
    ['WINDOW_UPDATE without its bytes', [frame(windowUpdate, 0, 0, '00')], frameSizeError],
    ['WINDOW_UPDATE by nothing', [frame(windowUpdate, 0, 0, numbers(0))], protocolError],
    [
      'WINDOW_UPDATE of the connection beyond the most',
      [frame(windowUpdate, 0, 0, numbers(2 ** 31 - 1))],
      flowControlError,
    ],
    ['WINDOW_UPDATE of a stream that was not begun', [frame(windowUpdate, 0, 1, numbers(1))], protocolError],
  ];
  test.each(rows)('%s', (_what, bytes, code) => {
    const conversation = greeted();
    conversation.answer = () => undefined;
    conversation.say(...bytes);
    expect(conversation.brokenBy).toMatchObject({ name: 'BrokenProtocol', code });
    const last = conversation.told().at(-1)!;
    expect(last).toMatchObject({ type: 'goAway', streamId: 0 });
    expect(last.payload.readUInt32BE(4)).toBe(code);
    expect(last.payload.toString('latin1', 8)).toBe(conversation.brokenBy!.message);
    // Whoever answered a call is told that nobody takes the answer.
    expect(conversation.requests.every(({ isClosed }) => isClosed)).toBe(true);
    // The same in single bytes.
    const spelled = greeted();
    spelled.answer = () => undefined;
    spelled.spell(...bytes);
    expect(spelled.brokenBy).toMatchObject({ code });
  });

  test('however much data comes, the connection has room for more', () => {
    const conversation = greeted({ streamsMax: 1000, windowBytes: 2 ** 31 - 1 });
    conversation.say(headers(1));
    const piece = data(1, Buffer.alloc(16_384));
    for (let times = 0; times < 200; times++) conversation.say(piece);
    // It hears of more in time.
    const told = conversation.told();
    expect(told.filter(({ type, streamId }) => type === 'windowUpdate' && streamId === 0).length).toBeGreaterThan(4);
    expect(conversation.brokenBy).toBeUndefined();
  });
});

describe('what breaks one stream resets it, and the others go on', () => {
  const { protocolError, flowControlError, streamClosed } = endCodes;
  const block = (fields: Readonly<Record<string, string>>) => Buffer.concat([requestBlock, fieldBlock(fields)]);
  const rows: [what: string, bytes: readonly Buffer[], code: number][] = [
    ['a name with a capital letter', [headers(1, block({ 'X-Y': 'z' }), endOfRequest)], protocolError],
    ['an empty name', [headers(1, Buffer.concat([requestBlock, Buffer.of(0, 0, 0)]), endOfRequest)], protocolError],
    ['a line end in a value', [headers(1, block({ x: 'a\r\nb' }), endOfRequest)], protocolError],
    ['a header of one connection', [headers(1, block({ connection: 'close' }), endOfRequest)], protocolError],
    ['te that is not trailers', [headers(1, block({ te: 'gzip' }), endOfRequest)], protocolError],
    ['no method', [headers(1, Buffer.of(0x86, 0x84), endOfRequest)], protocolError],
    ['no scheme', [headers(1, Buffer.of(0x83, 0x84), endOfRequest)], protocolError],
    ['no path', [headers(1, Buffer.of(0x83, 0x86), endOfRequest)], protocolError],
    ['an empty path', [headers(1, Buffer.of(0x83, 0x86, 0x04, 0x00), endOfRequest)], protocolError],
    ['two methods', [headers(1, Buffer.of(0x83, 0x82, 0x86, 0x84), endOfRequest)], protocolError],
    [
      'a status in a request',
      [headers(1, Buffer.concat([Buffer.of(0x88), requestBlock]), endOfRequest)],
      protocolError,
    ],
    [
      'a method after a field',
      [headers(1, Buffer.concat([fieldBlock({ x: 'y' }), requestBlock]), endOfRequest)],
      protocolError,
    ],
    ['a pseudo-header that nobody knows', [headers(1, block({ ':x': 'y' }), endOfRequest)], protocolError],
    ['a length that is no number', [headers(1, block({ 'content-length': '1x' }))], protocolError],
    [
      'less than the length that was said',
      [headers(1, block({ 'content-length': '3' })), data(1, '6162', true)],
      protocolError,
    ],
    [
      'more than the length that was said',
      [headers(1, block({ 'content-length': '1' })), data(1, '6162')],
      protocolError,
    ],
    ['nothing where a length was said', [headers(1, block({ 'content-length': '1' }), endOfRequest)], protocolError],
    ['a second head', [headers(1), headers(1)], protocolError],
    ['trailers that say what the request is', [headers(1), headers(1, requestBlock, endOfRequest)], protocolError],
    [
      'more data than its window',
      [headers(1), ...Array.from({ length: 5 }, () => data(1, Buffer.alloc(16_384)))],
      flowControlError,
    ],
    ['data after its end', [headers(1, requestBlock, endOfRequest), data(1, '61')], streamClosed],
    [
      'headers after its end',
      [headers(1, requestBlock, endOfRequest), headers(1, Buffer.alloc(0), endOfRequest)],
      streamClosed,
    ],
    ['WINDOW_UPDATE by nothing', [headers(1), frame(frameTypes.windowUpdate, 0, 1, numbers(0))], protocolError],
    [
      'WINDOW_UPDATE beyond the most',
      [headers(1), frame(frameTypes.windowUpdate, 0, 1, numbers(2 ** 31 - 1))],
      flowControlError,
    ],
  ];
  test.each(rows)('%s', (_what, bytes, code) => {
    const conversation = greeted();
    conversation.answer = () => undefined;
    conversation.say(...bytes);
    expect(conversation.toldInWords()).toEqual([`reset 1 ${code.toString(16).padStart(8, '0')}`]);
    expect(conversation.brokenBy).toBeUndefined();
    expect(conversation.requests.every(({ isClosed }) => isClosed)).toBe(true);
    conversation.answer = answerWith(Buffer.from('hello'));
    // What is still under way to it means nothing, and the next one is answered.
    conversation.say(
      data(1, '00'),
      frame(frameTypes.windowUpdate, 0, 1, numbers(5)),
      frame(frameTypes.reset, 0, 1, numbers(8)),
      headers(1, fieldBlock({ x: 'y' }), endOfRequest),
    );
    conversation.say(headers(3, requestBlock, endOfRequest));
    expect(conversation.toldInWords()).toEqual(['headers 3 88', 'data 3 68656c6c6f', `headers 3 ${endText} last`]);
  });

  test('a field that was not allowed is counted on from all the same', () => {
    const conversation = greeted();
    // Added to the table: number 62.
    conversation.say(headers(1, Buffer.concat([requestBlock, Buffer.of(0x40, 0x01, 0x58, 0x01, 0x79)]), endOfRequest));
    conversation.say(headers(3, Buffer.concat([requestBlock, Buffer.of(0x40, 0x01, 0x61, 0x01, 0x62)]), endOfRequest));
    conversation.say(headers(5, Buffer.concat([requestBlock, Buffer.of(0xbe)]), endOfRequest));
    conversation.say(headers(7, Buffer.concat([requestBlock, Buffer.of(0xbf)]), endOfRequest));
    expect(conversation.requests.map(({ stream, head }) => [stream.id, head!.fields.at(-1)!.name])).toEqual([
      [3, 'a'],
      [5, 'a'],
    ]);
  });
});

describe('an answer', () => {
  test('waits for room on its stream, in the connection, and for both', () => {
    const conversation = greeted({}, windowOf(3));
    conversation.answer = answerWith(Buffer.alloc(65_530, 1));
    conversation.say(headers(1, requestBlock, endOfRequest), headers(3, requestBlock, endOfRequest));
    expect(conversation.toldInWords()).toEqual(['headers 1 88', 'data 1 010101', 'headers 3 88', 'data 3 010101']);
    // The connection has 65,529 bytes left.
    conversation.say(settings(windowOf(65_525)));
    expect(conversation.toldInWords()).toEqual([
      'settings 0 answer',
      'data 1 16384 bytes',
      'data 1 16384 bytes',
      'data 1 16384 bytes',
      'data 1 16370 bytes',
      'data 3 01010101010101',
    ]);
    conversation.say(frame(frameTypes.windowUpdate, 0, 1, numbers(100)));
    expect(conversation.toldInWords()).toEqual([]);
    conversation.say(frame(frameTypes.windowUpdate, 0, 0, numbers(10)));
    expect(conversation.toldInWords()).toEqual(['data 1 0101010101', `headers 1 ${endText} last`, 'data 3 0101010101']);
    expect(conversation.requests.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  test('waits also below nothing: a window that became smaller has to be made up first', () => {
    const conversation = greeted({}, windowOf(10));
    conversation.answer = answerWith(Buffer.alloc(20, 1));
    conversation.say(headers(1, requestBlock, endOfRequest), settings(windowOf(2)));
    conversation.told();
    conversation.say(frame(frameTypes.windowUpdate, 0, 1, numbers(8)));
    expect(conversation.toldInWords()).toEqual([]);
    conversation.say(frame(frameTypes.windowUpdate, 0, 1, numbers(3)));
    expect(conversation.toldInWords()).toEqual(['data 1 010101']);
  });

  test('that comes before the end of the request tells the client to stop', () => {
    const conversation = greeted();
    conversation.say(headers(1), data(1, '61'));
    conversation.requests[0]!.stream.refuse(fieldBlock({ ':status': '200', 'grpc-status': '8' }));
    const [head, reset] = conversation.told();
    expect(head).toMatchObject({ type: 'headers', flags: endOfRequest });
    expect(reset).toMatchObject({ type: 'reset', payload: numbers(endCodes.noError) });
  });

  test('that comes after a reset goes nowhere', () => {
    const conversation = greeted();
    conversation.answer = () => undefined;
    conversation.say(headers(1, requestBlock, endOfRequest), frame(frameTypes.reset, 0, 1, numbers(8)));
    const { stream } = conversation.requests[0]!;
    answerWith(Buffer.from('late'))(stream);
    stream.refuse(ok);
    stream.reset(endCodes.cancel);
    expect(conversation.toldInWords()).toEqual([]);
    expect(conversation.requests[0]!.isClosed).toBe(true);
  });

  test('tells a client that wants no table that there is none, once', () => {
    const conversation = greeted();
    conversation.say(settings({ [settingIds.headerTableBytes]: 0 }), headers(1, requestBlock, endOfRequest));
    expect(conversation.toldInWords()).toEqual([
      'settings 0 answer',
      'headers 1 2088',
      'data 1 68656c6c6f',
      `headers 1 ${endText} last`,
    ]);
  });
});

describe('a client that says much at once', () => {
  test('is listened to as long as is wanted, and again where it was left', () => {
    const conversation = greeted();
    const ping = frame(frameTypes.ping, 0, 0, '0102030405060708');
    const bytes = Buffer.concat([ping, ping, ping, ping, ping.subarray(0, 12)]);
    let wanted = 3;
    conversation.wantsMore = () => wanted-- > 0;
    expect(conversation.session.receive(bytes)).toBe(3 * ping.length);
    expect(conversation.session.receive(bytes.subarray(3 * ping.length))).toBe(0);
    wanted = 10;
    expect(conversation.session.receive(bytes.subarray(3 * ping.length))).toBe(ping.length + 12);
    conversation.say(ping.subarray(12));
    expect(conversation.toldInWords()).toEqual(Array(5).fill('ping 0 0102030405060708 answer'));
  });

  test('names another window a thousand times in a frame has the windows of its streams moved once', () => {
    const conversation = greeted({}, windowOf(2));
    conversation.answer = answerWith(Buffer.alloc(10, 1));
    conversation.say(headers(1, requestBlock, endOfRequest));
    conversation.told();
    const { stream } = conversation.requests[0]!;
    const moves: number[] = [];
    let sendBytes = 0;
    Object.defineProperty(stream, 'sendBytes', {
      get: () => sendBytes,
      set: (bytes: number) => {
        moves.push(bytes - sendBytes);
        sendBytes = bytes;
      },
    });
    const windows = Array.from({ length: 1000 }, (_, at) => settings(windowOf(at)).subarray(9));
    conversation.say(frame(frameTypes.settings, 0, 0, Buffer.concat([...windows, settings(windowOf(5)).subarray(9)])));
    expect(conversation.toldInWords()).toEqual(['settings 0 answer', 'data 1 010101']);
    expect(moves).toEqual([3, -3]);
  });
});

describe('streams', () => {
  test('beyond those at once are refused, and there is room again when one has ended', () => {
    const conversation = greeted({ streamsMax: 2 });
    conversation.answer = () => undefined;
    conversation.say(
      headers(1, requestBlock, endOfRequest),
      headers(3, requestBlock, endOfRequest),
      headers(5, requestBlock, endOfRequest),
    );
    expect(conversation.toldInWords()).toEqual(['reset 5 00000007']);
    conversation.say(frame(frameTypes.reset, 0, 3, numbers(8)), headers(7, requestBlock, endOfRequest));
    expect(conversation.requests.map(({ stream }) => stream.id)).toEqual([1, 3, 7]);
  });

  test('that were reset count until whoever answers them has', () => {
    const conversation = greeted({ streamsMax: 2 });
    conversation.openStreams = 2;
    conversation.say(headers(1, requestBlock, endOfRequest));
    expect(conversation.toldInWords()).toEqual(['reset 1 00000007']);
  });

  test('for which there is no room are refused', () => {
    const conversation = greeted();
    conversation.hasRoom = false;
    conversation.say(headers(1, requestBlock, endOfRequest));
    expect(conversation.toldInWords()).toEqual(['reset 1 00000007']);
  });

  test('have padding, priorities and frames of unknown types, which mean nothing', () => {
    const conversation = greeted();
    const padded = frameFlags.padded | frameFlags.priority | frameFlags.endHeaders;
    const block = Buffer.concat([Buffer.of(2), Buffer.alloc(5), requestBlock, Buffer.alloc(2)]);
    conversation.say(
      headers(1, block, padded),
      frame(frameTypes.priority, 0, 1, Buffer.alloc(5)),
      frame(0x77, 0xff, 1, 'abcdef'),
      frame(frameTypes.data, frameFlags.padded, 1, '036162000000'),
      frame(frameTypes.data, frameFlags.padded | frameFlags.endStream, 1, '0163ff'),
    );
    // What padding took is given back.
    expect(conversation.toldInWords()).toEqual([
      'windowUpdate 1 00000004',
      'headers 1 88',
      'data 1 68656c6c6f',
      `headers 1 ${endText} last`,
    ]);
    expect(conversation.requests[0]!.body.toString()).toBe('abc');
  });

  test('have a header block in pieces, and trailers', () => {
    const conversation = greeted();
    conversation.say(
      headers(1, requestBlock.subarray(0, 1), 0),
      frame(frameTypes.continuation, 0, 1, requestBlock.subarray(1, 2)),
      frame(frameTypes.continuation, frameFlags.endHeaders, 1, requestBlock.subarray(2)),
      data(1, '61'),
      headers(1, fieldBlock({ x: 'y' }), endOfRequest),
    );
    expect(conversation.requests).toMatchObject([{ isWhole: true, head: { path: '/' } }]);
  });

  test('may have more header fields than anybody wants, and are told so', () => {
    const conversation = greeted();
    // A field of 4,000 bytes, added to the table, and then named 20 times.
    const large = Buffer.concat([Buffer.of(0x40, 1, 0x61, 0x7f, 0xa1, 0x1e), Buffer.alloc(4000, 0x62)]);
    conversation.say(headers(1, Buffer.concat([requestBlock, large, Buffer.alloc(20, 0xbe)]), endOfRequest));
    expect(conversation.requests).toMatchObject([{ head: undefined, isWhole: true }]);
  });
});

describe('the end', () => {
  test('is told with the last stream that was taken; those after it are not, and do no harm', () => {
    const conversation = greeted();
    conversation.answer = () => undefined;
    conversation.say(headers(1), headers(3, requestBlock, endOfRequest));
    conversation.session.goAway();
    conversation.session.goAway();
    expect(conversation.told()).toMatchObject([{ type: 'goAway', payload: numbers(3, endCodes.noError) }]);
    // Sent before the client heard of it.
    conversation.say(
      headers(5),
      data(5, '61'),
      frame(frameTypes.windowUpdate, 0, 5, numbers(1)),
      frame(frameTypes.reset, 0, 5, numbers(8)),
    );
    expect(conversation.brokenBy).toBeUndefined();
    conversation.answer = answerWith(Buffer.from('hello'));
    conversation.say(data(1, '61', true));
    answerWith(Buffer.from('hello'))(conversation.requests[1]!.stream);
    expect(conversation.requests.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(conversation.toldInWords().filter((words) => words.startsWith('data'))).toEqual([
      'data 1 68656c6c6f',
      'data 3 68656c6c6f',
    ]);
  });

  test('is told behind the greeting to a client that has not said its own', () => {
    const conversation = new Conversation();
    conversation.session.goAway();
    expect(conversation.told()).toEqual([]);
    conversation.say(clientPreface);
    expect(conversation.told().map(({ type }) => type)).toEqual(['settings', 'windowUpdate', 'goAway']);
  });

  test('of what a client says closes what is not whole, and the others are answered', () => {
    const conversation = greeted();
    conversation.answer = () => undefined;
    conversation.say(headers(1), headers(3, requestBlock, endOfRequest));
    conversation.session.endInput();
    expect(conversation.requests.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  test('a PING is answered with its bytes, and an answer is heard', () => {
    const conversation = greeted();
    conversation.say(frame(frameTypes.ping, 0, 0, '0102030405060708'));
    expect(conversation.toldInWords()).toEqual(['ping 0 0102030405060708 answer']);
    conversation.session.ping();
    expect(conversation.toldInWords()).toEqual(['ping 0 0000000000000000']);
    conversation.say(frame(frameTypes.ping, frameFlags.acknowledge, 0, '0000000000000000'));
    expect(conversation.pongs).toBe(1);
    expect(conversation.toldInWords()).toEqual([]);
  });
});
