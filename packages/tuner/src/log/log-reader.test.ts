import fc from 'fast-check';
import { SluiceError } from 'sluice';
import { describe, expect, it } from 'vitest';
import { longestLineBytes } from './lines.ts';
import { copyOf, readAll } from './log-reader.test-support.ts';
import { logReader } from './log-reader.ts';
import {
  combinedLine,
  commonLine,
  csvLine,
  csvNames,
  jsonLine,
  naiveCombined,
  naiveCsv,
  naiveJson,
} from './naive-reader.test-support.ts';
import type { LogReaderOptions } from './options.ts';

const good = '192.0.2.9 - - [15/Nov/2026:20:34:06 +0000] "GET /a HTTP/1.1" 200 5';
const goodJson = '{"ts":1794774846,"ip":"192.0.2.9","status":200,"path":"/a"}';

describe('the report', () => {
  it('counts every line once', () => {
    const log = `# a comment\n${good}\n\n   \t\nnonsense\n${good}\r\n${good.replace('Nov', 'Foo')}`;
    const { calls, report } = readAll([log]);
    expect(calls).toHaveLength(2);
    expect(report).toEqual({
      bytes: log.length,
      lines: 7,
      read: 2,
      withoutKey: 0,
      skipped: 3,
      malformed: 2,
      firstMalformed: [
        {
          line: 5,
          problem: 'has no address and time such as 192.0.2.1 - - [15/Nov/2026:20:34:06 +0000]',
          text: 'nonsense',
        },
        { line: 7, problem: 'has a time that is none: "15/Foo/2026:20:34:06 +0000"', text: good.replace('Nov', 'Foo') },
      ],
      format: 'common',
      fields: { time: 'time', client: 'ip', cost: undefined, status: 'status', route: 'request' },
    });
  });

  it.each([
    ['', 'common'],
    [' ', 'common'],
    [' -', 'common'],
    [' 5', 'common'],
  ])('needs no size behind the status: "200%s"', (size, format) => {
    const { calls, report } = readAll([`${good.slice(0, -2)}${size}\n`.repeat(3)]);
    expect(report).toMatchObject({ format, read: 3, malformed: 0 });
    expect(calls[0]).toMatchObject({ status: 200, route: 'GET /a' });
  });

  it('counts calls that lack the key apart, and does not hand them on', () => {
    const log = [good, good.replace('- - [', '- alice ['), good].join('\n');
    const { calls, report } = readAll([log], { key: 'user' });
    expect(calls.map(({ client }) => client)).toEqual(['alice']);
    expect(report).toMatchObject({ lines: 3, read: 1, withoutKey: 2, malformed: 0 });
  });

  // biome-ignore format: a row is a line
  const rows: [what: string, options: LogReaderOptions, before: string, line: string, problem: string][] = [
    ['no time',              {}, good, '192.0.2.9 - - "GET / HTTP/1.1" 200 5',                            'has no address and time such as'],
    ['an address alone',     {}, good, '192.0.2.9',                                                       'has no address and time such as'],
    ['a control for a blank', {}, good, good.replace(' ', '\u001b'),                                      'has no address and time such as'],
    ['no request',           {}, good, '192.0.2.9 - - [15/Nov/2026:20:34:06 +0000] 200 5',                'has no request in quotes behind the time'],
    ['cut in the time',      {}, good, good.slice(0, 30),                                                 'has no request in quotes behind the time'],
    ['cut in the request',   {}, good, good.slice(0, 50),                                                 'has no status behind a request in quotes'],
    ['cut in the status',    {}, good, good.slice(0, -4),                                                 'has no status behind a request in quotes'],
    ['cut behind a digit of it', {}, good, good.slice(0, -3),                                             'has no status behind a request in quotes'],
    ['a time too far away',  {}, `${csvNames}\n${csvLine(1)}`, '9999999999999999,c1,1,200,5,,a',           'has a time that is none: "9999999999999999"'],
    ['a date too far away',  {}, goodJson, '{"ip":"192.0.2.9","ts":"9999-12-31"}',                        'has a time that is none: "9999-12-31"'],
    ['a wrong day',          {}, good, good.replace('15/Nov', '31/Nov'),                                  'has a time that is none: "31/Nov/2026:20:34:06 +0000"'],
    ['broken JSON',          {}, goodJson, goodJson.slice(0, -5),                                         'is not an object of JSON'],
    ['two lines in one',     {}, goodJson, goodJson + goodJson,                                           'is not an object of JSON'],
    ['a list',               {}, goodJson, '[1,2]',                                                       'is not an object of JSON'],
    ['JSON without time',    {}, goodJson, '{"ip":"192.0.2.9"}',                                          'has no time in the field "ts"'],
    ['JSON, a wrong time',   {}, goodJson, '{"ip":"192.0.2.9","ts":"\\u001b[2Jnow"}',                     'has a time that is none: "\\x1b[2Jnow"'],
    ['too few fields',       {}, `${csvNames}\n${csvLine(1)}`, '1,c1,1',                                  'has 3 fields where the first row has 7'],
    ['too many fields',      {}, `${csvNames}\n${csvLine(1)}`, '1,c1,1,200,5,,a,b',                       'has more fields than the 7 of the first row'],
    ['an open quote',        {}, `${csvNames}\n${csvLine(1)}`, '1,c1,1,200,5,,"a',                        'has a quote that is not closed'],
    ['text behind a quote',  {}, `${csvNames}\n${csvLine(1)}`, '1,"c"1,1,200,5,,a',                       'has a quote that is not closed, or text behind one that is'],
    ['a negative cost',      {}, `${csvNames}\n${csvLine(1)}`, '1,c1,-1,200,5,,a',                        'has a cost that is no number of 0 or more: cost is "-1"'],
    ['a cost of text',       {}, `${csvNames}\n${csvLine(1)}`, '1,c1,12ms,200,5,,a',                      'cost is "12ms"'],
    ['one cost below 0',     { cost: 'a+b' }, '{"ts":1,"ip":"a","status":1}', '{"ts":1,"ip":"a","a":-1,"b":5}', 'a is "-1"'],
    ['a cost too large',     {}, `${csvNames}\n${csvLine(1)}`, '1,c1,1e300,200,5,,a',                     'has a cost above 1000000000000000: cost'],
    ['costs without end',    { cost: 'a+b' }, '{"ts":1,"ip":"a","status":1}', '{"ts":1,"ip":"a","a":1e308,"b":1e308}', 'has a cost above 1000000000000000: a+b'],
    ['too long',             {}, good, good + 'x'.repeat(longestLineBytes),                               `is longer than ${longestLineBytes} bytes`],
  ];
  it.each(rows)('says of a line with %s what is wrong', (_, options, before, line, problem) => {
    const { report } = readAll([`${before}\n${line}\n`], options);
    expect(report.read).toBe(1);
    expect(report.malformed).toBe(1);
    expect(report.firstMalformed[0]?.problem).toContain(problem);
  });

  it('shows the first few malformed lines, short, with nothing in them that a terminal would act on', () => {
    const hostile = `\u001b[31m\u0007\u202e${'\u00e9'.repeat(200)}`;
    const invalid = Buffer.from([0x61, 0xff, 0xfe, 0x62, 0x0a]);
    const { report } = readAll([`${good}\n${hostile}\n`, invalid, 'bad\n'.repeat(100)]);
    expect(report.malformed).toBe(102);
    expect(report.firstMalformed).toHaveLength(5);
    const [first, second] = report.firstMalformed;
    expect(first?.text).toMatch(/^\\x1b\[31m\\x07\\u\{202e\}é+\.\.\.$/);
    expect(second?.text).toBe('a\ufffd\ufffdb');
  });

  it('is of a log without lines, which is no error', () => {
    for (const log of ['', '\n\n', '# only a comment\n']) {
      const { calls, report } = readAll([log]);
      expect(calls).toEqual([]);
      expect(report).toMatchObject({ read: 0, malformed: 0, format: undefined, fields: undefined });
    }
    expect(readAll([`${csvNames}\n`]).report).toMatchObject({ lines: 1, skipped: 1, read: 0, format: 'csv' });
  });
});

describe('what cannot be made out', () => {
  // biome-ignore format: a row is a log
  const rows: [what: string, log: string, options: LogReaderOptions, ...message: string[]][] = [
    ['no format',            'hello\nworld\n', {}, 'The format of the log is not known.', 'combined, common, json or csv', 'Its first line: hello'],
    ['CSV without names',    '0,c1,1\n1,c2,1\n', { format: 'csv' }, 'The log has no field with a time. Its fields are 0, c1, 1. Name one of them with time.', 'Its first line: 0,c1,1'],
    ['no address',           'timestamp,value\n2014-04-10 00:04:00,94.0\n', {}, 'The log has no field with an address. Its fields are timestamp, value. Name one of them with key; "all" counts everybody as one.', 'Its first line: timestamp,value'],
    ['no such column',       `${csvNames}\n${csvLine(1)}`, { key: 'tenant' }, 'The log has no field "tenant". Its fields are t_ms, client, cost,'],
    ['no such cost',         `${csvNames}\n${csvLine(1)}`, { cost: 'tokens' }, 'The log has no field "tokens".', 'Name one of them with cost.'],
    ['no such status',       `${csvNames}\n${csvLine(1)}`, { status: 'code' }, 'The log has no field "code".', 'Name one of them with status.'],
    ['no such route',        `${csvNames}\n${csvLine(1)}`, { route: 'url' }, 'The log has no field "url".', 'Name one of them with route.'],
    ['no route to count by', 'ts,ip\n1,a\n', { key: 'route' }, 'The log has no field "route". Its fields are ts, ip.'],
    ['JSON, no address',     '{"ts":1,"message":"hello"}\n', {}, 'The log has no field with an address. Its fields are ts, message.'],
    ['JSON, no user',        goodJson, { key: 'user' }, 'The log has no field with a user. Its fields are ts, ip, status, path.'],
    ['JSON, no such field',  goodJson, { key: 'tenant.id' }, 'No line of the log has the key "tenant.id".', `One of its lines: ${goodJson}`],
    ['JSON, no such cost',   goodJson, { cost: 'tokens' }, 'No line of the log has the cost "tokens". Name another with cost; without it each call costs 1.'],
    ['JSON, no time',        '{"ip":"192.0.2.9","when":"noon"}', {}, 'The log has no field with a time. Its fields are ip, when. Name one of them with time.'],
    ['no JSON at all',       good, { format: 'json' }, 'No line of the log is an object of JSON.', `Its first line: ${good}`],
    ['no combined at all',   goodJson, { format: 'combined' }, 'The only line could not be read as combined: line 1 has no address', 'say which with format', goodJson],
    ['nobody logged in',     good, { key: 'user' }, 'No line of the log has the key "user".', `One of its lines: ${good}`],
    ['combined, no field',   good, { key: 'tenant' }, 'The log has no field "tenant". Its fields are ip, user, time,', 'Name one of them with key'],
    ['combined, no cost',    good, { cost: 'tokens' }, 'The log has no field "tokens".', 'Name one of them with cost.'],
    ['combined, no route',   good, { route: 'page' }, 'The log has no field "page".', 'Name one of them with route.'],
    ['UTF-16',               '\ufeffa', {}, 'The log is in UTF-16.'],
  ];
  it.each(rows)('%s: a sentence with a line and the way out', (what, log, options, ...message) => {
    const bytes = what === 'UTF-16' ? Buffer.from(log, 'utf16le') : Buffer.from(log);
    const error = thrownBy(() => readAll([bytes], options));
    expect(error).toMatchObject({ name: 'SluiceError', code: 'invalid-option' });
    for (const part of message) expect(error.message).toContain(part);
  });

  it('is said before all of the log was read', () => {
    const reader = logReader({}, () => {});
    const error = thrownBy(() => {
      for (let i = 0; i < 2000; i += 1) reader.push(Buffer.from('hello\n'));
    });
    expect(error.message).toContain('The format of the log is not known.');
    expect(reader.report().lines).toBeLessThan(2000);
  });

  it.each([longestLineBytes + 1, 3 * longestLineBytes])(
    'says of one line of %d bytes that it is too long',
    (length) => {
      const error = thrownBy(() => readAll([Buffer.alloc(length, 'x')]));
      expect(error).toMatchObject({ name: 'SluiceError', code: 'invalid-option' });
      expect(error.message).toContain(
        `No line of the log is shorter than ${longestLineBytes} bytes, which is the longest that is read.`,
      );
      expect(error.message).toContain('Its first line begins with: xxx');
    },
  );

  it('does not hold more than a bound while it waits for a line that says the format', () => {
    const reader = logReader({}, () => {});
    const chunk = Buffer.from(`${'x'.repeat(longestLineBytes - 1)}\n`);
    const error = thrownBy(() => {
      for (let i = 0; i < 100; i += 1) reader.push(chunk);
    });
    expect(error.message).toContain('The format of the log is not known.');
    expect(reader.report().bytes).toBeLessThan(2 ** 21);
  });

  // biome-ignore format: aligned rows
  it.each<[options: object, message: string]>([
    [{ format: 'xml' },        'format must be one of auto, combined, common, json, csv, got "xml".'],
    [{ key: '' },              'key must be the name of a field, or up to 8 with a plus between them, got "".'],
    [{ key: 'user+' },         'key must be the name of a field, or up to 8 with a plus between them, got "user+".'],
    [{ key: 7 },               'key must be the name of a field, or up to 8 with a plus between them, got 7.'],
    [{ time: '' },             'time must be the name of a field, got "".'],
    [{ ipv6Subnet: 129 },      'ipv6Subnet must be a whole number from 32 to 128, got 129.'],
    [{ by: 'ip' },             'There is no option "by". There are format, key, ipv6Subnet, time, cost, status, route.'],
  ])('refuses %o before it reads', (options, message) => {
    expect(() => logReader(options, () => {})).toThrow(new SluiceError('invalid-option', message));
  });
});

function thrownBy(run: () => void): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

/** The same bytes in other pieces. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  // A copy each: a reader that kept a piece would see it change.
  return places.slice(1).map((end, i) => Uint8Array.from(bytes.subarray(places[i], end)));
}

const anyLine = fc.oneof(
  fc.nat(1000).map(combinedLine),
  fc.nat(1000).map(commonLine),
  fc.nat(1000).map(jsonLine),
  fc.nat(1000).map(csvLine),
  fc.constantFrom(
    '',
    ' ',
    '# comment',
    csvNames,
    '{',
    '{}',
    '[]',
    '"',
    '\\',
    '{"a":{"b":[1,{"c":"}"}]},"ts":1,"ip":"x"}',
  ),
  fc.string(),
);
/** Lines of all formats, some with a byte of theirs changed or cut off in the middle. */
const anyLog = fc
  .array(fc.tuple(anyLine, fc.option(fc.tuple(fc.nat(), fc.nat(255))), fc.option(fc.nat(400))), { maxLength: 60 })
  .map((lines) => {
    const broken = lines.map(([line, change, length]) => {
      const bytes = Buffer.from(line);
      if (change !== null && bytes.length > 0) bytes[change[0] % bytes.length] = change[1];
      return Buffer.concat([bytes.subarray(0, length ?? bytes.length), Buffer.from('\n')]);
    });
    return Buffer.concat(broken);
  });
const anyOptions = fc.record(
  {
    format: fc.constantFrom('auto', 'combined', 'common', 'json', 'csv'),
    key: fc.constantFrom('ip', 'user', 'all', 'route', 'ip+route', 'client+host', 'x_forwarded_for', 'user_agent'),
    cost: fc.constantFrom('cost', 'bytes'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<LogReaderOptions>;

/** Everything that can be told of a reading, an error included. */
function outcomeOf(chunks: readonly Uint8Array[], options: LogReaderOptions) {
  const calls: object[] = [];
  const reader = logReader(options, (line) => calls.push(copyOf(line)));
  let error = '';
  try {
    for (const chunk of chunks) {
      reader.push(chunk);
      chunk.fill(0x21);
    }
    reader.end();
  } catch (thrown) {
    if (!(thrown instanceof SluiceError)) throw thrown;
    error = thrown.message;
  }
  const { bytes: _, ...report } = reader.report();
  return { calls, report, error };
}

describe('whatever the log', () => {
  it('is read the same in whatever pieces it comes', () => {
    fc.assert(
      fc.property(anyLog, anyOptions, fc.array(fc.nat(), { maxLength: 20 }), (log, options, cuts) => {
        expect(outcomeOf(pieces(log, cuts), options)).toEqual(outcomeOf(pieces(log, []), options));
      }),
      { numRuns: 200 },
    );
  });

  it('is read the same byte by byte', () => {
    const log = Buffer.from([csvNames, ...Array.from({ length: 50 }, (_, i) => csvLine(i))].join('\r\n'));
    const bytes = [...log].map((byte) => Uint8Array.of(byte));
    expect(outcomeOf(bytes, {})).toEqual(outcomeOf([log], {}));
  });

  it('throws nothing but sentences, and hands on nothing but finite numbers and clients with a name', () => {
    fc.assert(
      fc.property(fc.oneof(anyLog, fc.uint8Array({ maxLength: 300 })), anyOptions, (log, options) => {
        let calls = 0;
        const reader = logReader(options, ({ atMs, cost, status, client, route }) => {
          calls += 1;
          expect(Number.isInteger(atMs)).toBe(true);
          expect(Number.isFinite(cost) && cost >= 0).toBe(true);
          expect(Number.isInteger(status) && status >= 0 && status <= 999).toBe(true);
          expect(client.end - client.start).toBeGreaterThan(0);
          for (const { bytes, start, end } of [client, route])
            expect(start >= 0 && start <= end && end <= bytes.length && end - start <= 1024).toBe(true);
        });
        try {
          reader.push(log);
          reader.end();
        } catch (error) {
          if (!(error instanceof SluiceError)) throw error;
          return;
        }
        const { lines, read, withoutKey, skipped, malformed } = reader.report();
        expect(read).toBe(calls);
        expect(read + withoutKey + skipped + malformed).toBe(lines);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['combined', `${good} "-" "curl/8"`],
    ['json', goodJson],
    ['csv', '850,"c7",1,200,5,,"say ""hello"" twice"'],
  ] as const)('is not read beyond the end of a line: %s, cut at every byte', (format, line) => {
    // Behind a line that came in pieces lies what is left of the one before. (The first lines, which say the format, are copied.)
    const before = (format === 'csv' ? `${csvNames}\n` : '') + `${line}\n`.repeat(40);
    for (let length = 1; length < line.length; length += 1) {
      const log = Buffer.from(before + line.slice(0, length));
      const inPieces = pieces(log, [before.length - 5, before.length + (length >> 1)]);
      expect(outcomeOf(inPieces, { format })).toEqual(outcomeOf(pieces(log, []), { format }));
    }
  });

  it('forgets the fields of the line before', () => {
    const log = `a.org:443 ${good}\n${good}\nb.org:443 ${good}\n`;
    expect(readAll([log], { key: 'host' }).calls.map(({ client }) => client)).toEqual(['a.org', 'b.org']);
    const json = `{"ts":1,"ip":"a","status":200}\n{"ts":1,"ip":"b"}\n{"ip":"c"}\n{"ts":1}\n`;
    const { calls, report } = readAll([json]);
    expect(calls.map(({ client, status }) => [client, status])).toEqual([
      ['a', 200],
      ['b', 0],
    ]);
    expect(report).toMatchObject({ read: 2, malformed: 1, withoutKey: 1 });
  });
});

describe('lines that are in order', () => {
  const count = 500;
  const log = (lineOf: (i: number) => string) => Array.from({ length: count }, (_, i) => `${lineOf(i)}\n`).join('');
  // biome-ignore format: aligned rows
  it.each([
    ['combined', '',               combinedLine, naiveCombined],
    ['common',   '',               commonLine,   naiveCombined],
    ['json',     '',               jsonLine,     naiveJson],
    ['csv',      `${csvNames}\n`,  csvLine,      naiveCsv],
  ] as const)('of %s are read as a regular expression or JSON.parse reads them', (format, header, lineOf, naive) => {
    const { calls, report } = readAll([header + log(lineOf)]);
    expect(report).toMatchObject({ format, read: count, malformed: 0 });
    expect(calls).toEqual(Array.from({ length: count }, (_, i) => naive(lineOf(i))));
  });

  it('of JSON give what JSON.parse finds, whatever else is in them', () => {
    const text = fc.string({ unit: 'grapheme' });
    const others = fc.dictionary(text, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
    fc.assert(
      fc.property(others, others, text, fc.nat(), (before, within, user, ts) => {
        const line = JSON.stringify({ ...before, ts, status: 200, a: { ...within, user } });
        const { ts: foundTs, a } = JSON.parse(line);
        fc.pre(user !== '' && user !== '-' && Buffer.byteLength(user) <= 1024 && !line.includes('\\ud'));
        fc.pre(!Object.keys(before).includes('a.user'));
        const { calls } = readAll([line], {
          format: 'json',
          time: 'ts',
          key: 'a.user',
          route: 'none',
          status: 'status',
        });
        expect(calls).toEqual([{ atMs: foundTs * 1000, client: a.user, cost: 1, status: 200, route: '' }]);
      }),
      { numRuns: 500 },
    );
  });
});

describe('names', () => {
  it('are cut where they are longer than anybody should keep', () => {
    const user = 'u'.repeat(5000);
    const line = good.replace('- - [', `- ${'u'.repeat(900)} [`);
    expect(readAll([line], { key: 'user' }).calls[0]?.client).toHaveLength(900);
    const json = JSON.stringify({ ts: 1, user, status: 200, path: `/${user}`, method: 'GET' });
    const [call] = readAll([json], { key: 'user' }).calls;
    expect(call?.client).toHaveLength(1024);
    expect(call?.route).toHaveLength(1024);
    expect(readAll([json], { key: 'user+route' }).calls[0]?.client).toHaveLength(1024);
  });
});
