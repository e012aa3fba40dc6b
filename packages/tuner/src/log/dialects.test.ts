import { describe, expect, it } from 'vitest';
import { readAll } from './log-reader.test-support.ts';
import type { LogReaderOptions } from './options.ts';

// All lines below say 15 November 2026, 20:34:06 in UTC, unless their clock counts from elsewhere.
const then = Date.UTC(2026, 10, 15, 20, 34, 6);
const clf = '[15/Nov/2026:20:34:06 +0000]';

function only(log: string, options: LogReaderOptions = {}) {
  const { calls, report } = readAll([log], options);
  expect(report).toMatchObject({ malformed: 0, withoutKey: 0, read: 1 });
  return { ...calls[0]!, format: report.format };
}

type Row = [what: string, line: string, client: string, status: number, route: string, atMs?: number];

describe('lines of Apache and nginx', () => {
  // biome-ignore format: a row is a line
  const rows: Row[] = [
    ['common',                  `192.0.2.9 - - ${clf} "GET /a?b=c HTTP/1.1" 200 512`,                                       '192.0.2.9', 200, 'GET /a'],
    ['common, no size',         `192.0.2.9 - - ${clf} "HEAD /a HTTP/1.0" 304 -`,                                            '192.0.2.9', 304, 'HEAD /a'],
    ['combined',                `192.0.2.9 - - ${clf} "GET /a?b=c HTTP/1.1" 200 512 "https://a.org/" "curl/8"`,             '192.0.2.9', 200, 'GET /a'],
    ['our gateway',             `192.0.2.9 - - ${clf} "GET /a\\x22b HTTP/1.1" 429 0 "-" "-"`,                               '192.0.2.9', 429, 'GET /a\\x22b'],
    ['a user',                  `192.0.2.9 - alice ${clf} "GET / HTTP/1.1" 200 5 "-" "-"`,                                  '192.0.2.9', 200, 'GET /'],
    ['a user with blanks',      `192.0.2.9 - alice [a] b ${clf} "GET / HTTP/1.1" 200 5 "-" "-"`,                            '192.0.2.9', 200, 'GET /'],
    ['a user that is empty',    `192.0.2.9 -  ${clf} "GET / HTTP/1.1" 401 5 "-" "-"`,                                       '192.0.2.9', 401, 'GET /'],
    ['ident',                   `192.0.2.9 joe - ${clf} "GET / HTTP/1.1" 200 5`,                                            '192.0.2.9', 200, 'GET /'],
    ['a host before it',        `www.a.org:443 192.0.2.9 - - ${clf} "GET /a HTTP/1.1" 200 5 "-" "-"`,                       '192.0.2.9', 200, 'GET /a'],
    ['a host, a user',          `www.a.org:443 192.0.2.9 - alice b ${clf} "GET /a HTTP/1.1" 200 5 "-" "-"`,                 '192.0.2.9', 200, 'GET /a'],
    ['a host, no port',         `www.a.org 2001:db8::1 - - ${clf} "GET /a HTTP/1.1" 200 5`,                                 '2001:db8:0:0:0:0:0:0/56', 200, 'GET /a'],
    ['forwarders for address',  `192.0.2.7, 192.0.2.8, 192.0.2.9 - - ${clf} "GET /a HTTP/1.1" 200 5 "-" "-"`,               '192.0.2.9', 200, 'GET /a'],
    ['more behind it',          `192.0.2.9 - - ${clf} "GET /a HTTP/2.0" 200 5 "-" "curl/8" "203.0.113.7" rt=0.004 0.003`,   '192.0.2.9', 200, 'GET /a'],
    ['Traefik',                 `192.0.2.9 - - ${clf} "GET /a HTTP/2.0" 200 5 "-" "-" 17 "web@docker" "http://10.0.0.7" 3ms`, '192.0.2.9', 200, 'GET /a'],
    ['IPv6',                    `2001:db8:0:1ff::9 - - ${clf} "GET /a HTTP/1.1" 200 5`,                                     '2001:db8:0:100:0:0:0:0/56', 200, 'GET /a'],
    ['IPv4 as IPv6',            `::ffff:192.0.2.9 - - ${clf} "GET /a HTTP/1.1" 200 5`,                                      '192.0.2.9', 200, 'GET /a'],
    ['a name for address',      `crawl-9.example.org - - ${clf} "GET /a HTTP/1.1" 200 5`,                                   'crawl-9.example.org', 200, 'GET /a'],
    ['quotes of Apache',        `192.0.2.9 - - ${clf} "GET /a\\"b\\\\ HTTP/1.1" 404 5 "\\"" "x\\\\"`,                       '192.0.2.9', 404, 'GET /a\\"b\\\\'],
    ['a quote that is bare',    `192.0.2.9 - - ${clf} "GET /a"b HTTP/1.0" 404 5`,                                           '192.0.2.9', 404, 'GET /a"b'],
    ['a forged status',         `192.0.2.9 - - ${clf} "GET /\\" 200 5 \\"x HTTP/1.1" 404 5 "-" "-"`,                        '192.0.2.9', 404, 'GET /\\"'],
    ['no request',              `192.0.2.9 - - ${clf} "-" 408 - "-" "-"`,                                                   '192.0.2.9', 408, ''],
    ['an empty request',        `192.0.2.9 - - ${clf} "" 400 0 "-" "-"`,                                                    '192.0.2.9', 400, ''],
    ['TLS on a plain port',     `192.0.2.9 - - ${clf} "\\x16\\x03\\x01\\x02\\x00\\x01\\xFC" 400 157 "-" "-"`,               '192.0.2.9', 400, ''],
    ['TLS, raw',                `192.0.2.9 - - ${clf} "\u0016\u0003\u0001 \u0000\u00fc" 400 157 "-" "-"`,                   '192.0.2.9', 400, ''],
    ['a lower-case method',     `192.0.2.9 - - ${clf} "get /a HTTP/1.1" 400 157`,                                           '192.0.2.9', 400, ''],
    ['a method alone',          `192.0.2.9 - - ${clf} "GET " 400 157`,                                                      '192.0.2.9', 400, ''],
    ['HTTP/0.9',                `192.0.2.9 - - ${clf} "GET /a" 200 5`,                                                      '192.0.2.9', 200, 'GET /a'],
    ['no status',               `192.0.2.9 - - ${clf} "GET /a HTTP/1.1" - -`,                                               '192.0.2.9', 0, 'GET /a'],
    ['another zone',            `192.0.2.9 - - [15/Nov/2026:13:34:06 -0700] "GET /a HTTP/1.1" 200 5`,                       '192.0.2.9', 200, 'GET /a'],
    ['milliseconds',            `192.0.2.9 - - [15/Nov/2026:20:34:06.123 +0000] "GET /a HTTP/1.1" 200 5`,                   '192.0.2.9', 200, 'GET /a', then + 123],
    ['time_iso8601',            `192.0.2.9 - bob [2026-11-15T21:34:06+01:00] "GET /a HTTP/1.1" 200 5 "-" "-"`,              '192.0.2.9', 200, 'GET /a'],
    ['a mark of UTF-8',         `\ufeff192.0.2.9 - - ${clf} "GET /a HTTP/1.1" 200 5`,                                       '192.0.2.9', 200, 'GET /a'],
    ['NULs before it',          `${'\0'.repeat(9)}192.0.2.9 - - ${clf} "GET /a HTTP/1.1" 200 5`,                                     '192.0.2.9', 200, 'GET /a'],
    ['CRLF',                    `192.0.2.9 - - ${clf} "GET /a HTTP/1.1" 200 5\r\n`,                                         '192.0.2.9', 200, 'GET /a'],
  ];
  it.each(rows)('%s', (_, line, client, status, route, atMs = then) => {
    const call = only(line);
    expect(call).toEqual({ atMs, client, cost: 1, status, route, format: expect.stringMatching(/^com(mon|bined)$/) });
  });

  const full = `a.org:443 192.0.2.9 - alice ${clf} "GET /a?b HTTP/1.1" 200 512 "https://a.org/" "curl/\\"8" "203.0.113.7, 198.51.100.4"`;
  // biome-ignore format: aligned rows
  it.each<[key: string, client: string]>([
    ['ip',                    '192.0.2.9'],
    ['remote_addr',           '192.0.2.9'],
    ['user',                  'alice'],
    ['remote_user',           'alice'],
    ['route',                 'GET /a'],
    ['method',                'GET'],
    ['path',                  '/a'],
    ['host',                  'a.org'],
    ['status',                '200'],
    ['referer',               'https://a.org/'],
    ['user_agent',            'curl/\\"8'],
    ['http_user_agent',       'curl/\\"8'],
    ['x_forwarded_for',       '198.51.100.4'], // the one that the server's own proxy wrote
    ['http_x_forwarded_for',  '198.51.100.4'],
    ['all',                   'all'],
    ['user+route',            'alice|GET /a'],
    ['ip + user',             '192.0.2.9|alice'],
  ])('counts by %s', (key, client) => {
    expect(only(full, { key }).client).toBe(client);
  });

  it('counts by the address where nobody forwarded', () => {
    const line = `192.0.2.9 - - ${clf} "GET / HTTP/1.1" 200 5 "-" "curl/8" "-"`;
    expect(only(line, { key: 'x_forwarded_for' }).client).toBe('192.0.2.9');
  });

  it('joins the parts of a key as rules do', () => {
    expect(only(`192.0.2.9 - a|b%c ${clf} "GET /x HTTP/1.1" 200 5`, { key: 'user+path' }).client).toBe('a%7Cb%25c|/x');
  });

  it('takes the size of the answer for the cost where it is told to', () => {
    expect(only(full, { cost: 'bytes' }).cost).toBe(512);
  });

  it('tells common from combined by what most lines are', () => {
    expect(only(full).format).toBe('combined');
    expect(only(`192.0.2.9 - - ${clf} "GET / HTTP/1.1" 200 5`).format).toBe('common');
  });

  it('counts IPv6 by the subnet that it is told', () => {
    const line = `2001:db8:1:2:3::9 - - ${clf} "GET /a HTTP/1.1" 200 5`;
    expect(only(line, { ipv6Subnet: 128 }).client).toBe('2001:db8:1:2:3:0:0:9/128');
    expect(only(line, { ipv6Subnet: 64 }).client).toBe('2001:db8:1:2:0:0:0:0/64');
  });
});

describe('JSON lines', () => {
  const caddy = {
    ...{ level: 'info', ts: then / 1000 + 0.5241024, logger: 'http.log.access', msg: 'handled request' },
    request: {
      ...{ remote_ip: '10.0.0.1', remote_port: '41342', client_ip: '192.0.2.9', proto: 'HTTP/2.0', method: 'GET' },
      ...{ host: 'localhost', uri: '/a?b=c', headers: { 'User-Agent': ['curl/8 {"}'], 'X-Api-Key': ['k1', 'k2'] } },
    },
    ...{ bytes_read: 0, user_id: 'alice', duration: 0.000929675, size: 10900, status: 200 },
  };
  const traefik = {
    ...{
      ClientAddr: '192.0.2.9:4321',
      ClientHost: '192.0.2.9',
      ClientUsername: '-',
      DownstreamStatus: 200,
      Duration: 1,
    },
    ...{
      RequestMethod: 'GET',
      RequestPath: '/a?b=c',
      StartUTC: '2026-11-15T20:34:06.9Z',
      time: '2026-11-15T20:34:07Z',
    },
  };
  const envoy = {
    ...{
      start_time: '2026-11-15T20:34:06.123Z',
      method: 'GET',
      path: '/a?b=c',
      protocol: 'HTTP/2',
      response_code: 200,
    },
    ...{ downstream_remote_address: '192.0.2.9:49876', x_forwarded_for: null, duration: 4, bytes_sent: 154 },
  };
  const gateway = {
    ...{ time: '2026-11-15T20:34:06.123Z', client: '192.0.2.9', method: 'GET', target: '/a?b=c', protocol: 'HTTP/1.1' },
    ...{
      host: 'a.org',
      status: 200,
      bytes: 5,
      durationMs: 1.5,
      route: 'shop',
      rule: null,
      upstream: null,
      attempts: 1,
    },
  };
  const google = {
    httpRequest: {
      remoteIp: '192.0.2.9',
      requestMethod: 'GET',
      requestUrl: 'https://a.org/a?b=c',
      status: 200,
      latency: '0.1s',
    },
    ...{ insertId: 'x', timestamp: '2026-11-15T20:34:06.123456Z' },
  };
  const nginx = `{"time_local":"15/Nov/2026:20:34:06 +0000","remote_addr":"192.0.2.9","request":"GET /a?b=c HTTP/1.1","status": "200","http_user_agent":"a\\x22b","request_time":0.1}`;
  const nginxMsec = `{"msec":"1794774846.123","time_iso8601":"2026-11-15T20:34:06+00:00","remote_addr":"192.0.2.9","request_method":"GET","request_uri":"/a?b","status":200}`;
  const pino = {
    level: 30,
    time: then + 5,
    req: { method: 'GET', url: '/a', remoteAddress: '192.0.2.9' },
    res: { statusCode: 200 },
  };
  const elastic = {
    '@timestamp': '2026-11-15T20:34:06Z',
    'source.ip': '192.0.2.9',
    'http.request.method': 'GET',
    'url.path': '/a',
    'http.response.status_code': 200,
  };
  const elasticNested = {
    '@timestamp': '2026-11-15T20:34:06Z',
    source: { ip: '192.0.2.9' },
    http: { request: { method: 'GET' }, response: { status_code: 200 } },
    url: { path: '/a' },
  };
  const cloudflare = {
    ClientIP: '192.0.2.9',
    ClientRequestMethod: 'GET',
    ClientRequestURI: '/a?b',
    EdgeStartTimestamp: 1794774846123456789n,
    EdgeResponseStatus: 200,
  };
  const big = (value: object) =>
    JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each)).replace(/"(\d+)n"/, '$1');

  // biome-ignore format: a row is a line
  const rows: [what: string, line: string, atMs: number][] = [
    ['Caddy',                   JSON.stringify(caddy),         then + 524],
    ['Traefik',                 JSON.stringify(traefik),       then + 900],
    ['Envoy',                   JSON.stringify(envoy),         then + 123],
    ['the gateway of Sluice',   JSON.stringify(gateway),       then + 123],
    ['Google Cloud',            JSON.stringify(google),        then + 123],
    ['nginx',                   nginx,                         then],
    ['nginx, msec',             nginxMsec,                     then + 123],
    ['pino-http',               JSON.stringify(pino),          then + 5],
    ['Elastic, flat',           JSON.stringify(elastic),       then],
    ['Elastic, nested',         JSON.stringify(elasticNested), then],
    ['Cloudflare, nanoseconds', big(cloudflare),               then + 123],
   ['with an exponent',        `{"time":1.794774846e9,"ip":"192.0.2.9","status":200,"method":"GET","path":"/a"}`, then],
    ['with blanks',             ` { "ts" : ${then / 1000} , "ip" : "192.0.2.9" , "status":200,\t"method":"GET","path":"/a" } `, then],
    ['with escapes',            `{"ts":${then / 1000},"ip":"192\\u002e0.2.9","status":200,"method":"GET","path":"\\/a"}`, then],
    ['with escapes in names',   `{"t\\u0073":${then / 1000},"ip":"192.0.2.9","status":200,"method":"GET","path":"/a"}`, then],
  ];
  it.each(rows)('%s', (_, line, atMs) => {
    expect(only(line)).toEqual({ atMs, client: '192.0.2.9', cost: 1, status: 200, route: 'GET /a', format: 'json' });
  });

  // biome-ignore format: aligned rows
  it.each<[key: string, client: string]>([
    ['user',                        'alice'],
    ['user_id',                     'alice'],
    ['request.remote_ip',           '10.0.0.1'],
    ['request.headers.X-Api-Key',   'k1'],
    ['request.headers.User-Agent',  'curl/8 {"}'],
    ['route',                       'GET /a'],
    ['user+request.host',           'alice|localhost'],
    ['all',                         'all'],
    ['STATUS',                      '200'], // but for the case of its letters
  ])('counts Caddy by %s', (key, client) => {
    expect(only(JSON.stringify(caddy), { key }).client).toBe(client);
  });

  it('reads the fields that it is told', () => {
    const line = `{"when":5000,"arrived_ms":7,"tenant":{"name":"t1"},"tokens":12.5,"more":2,"outcome":503,"what":"chat"}`;
    const call = only(line, {
      key: 'tenant.name',
      time: 'when',
      cost: 'tokens+more',
      status: 'outcome',
      route: 'what',
    });
    expect(call).toMatchObject({ atMs: 5_000_000, client: 't1', cost: 14.5, status: 503, route: 'chat' });
    expect(only(line, { key: 'all', time: 'arrived_ms' })).toMatchObject({ atMs: 7, cost: 1, status: 0, route: '' });
  });

  it('waits for the first call behind the messages of a server', () => {
    const messages = Array.from(
      { length: 100 },
      (_, i) => `{"level":"info","ts":${then / 1000 + i},"msg":"starting"}\n`,
    );
    const { calls, report } = readAll([...messages, JSON.stringify(caddy)]);
    expect(calls).toHaveLength(1);
    expect(report).toMatchObject({ lines: 101, read: 1, withoutKey: 100, malformed: 0 });
    expect(report.fields).toEqual({
      time: 'ts',
      client: 'request.client_ip',
      cost: undefined,
      status: 'status',
      route: 'request.method request.uri',
    });
  });
});

describe('CSV', () => {
  const names = 't_ms,client,cost,status,bytes,latency_ms,route';
  // biome-ignore format: a row is a log
  const rows: [what: string, log: string, call: object, options?: LogReaderOptions][] = [
    ['plain',              `${names}\n250,c7,3,200,5,,GET /a`,                    { atMs: 250, client: 'c7', cost: 3, status: 200, route: 'GET /a' }],
    ['empty fields',       `${names}\n250,c7,,,,,`,                               { atMs: 250, client: 'c7', cost: 1, status: 0, route: '' }],
    ['quotes',             `${names}\n250,"c,7",1,200,5,,"say ""hello"""`,        { client: 'c,7', route: 'say "hello"' }],
    ['only quotes',        `${names}\n250,"""",1,200,5,,""""""`,                  { client: '"', route: '""' }],
    ['blanks',             `${names}\n 250 , c7 ,1, 200 ,5,,a`,                   { atMs: 250, client: 'c7', status: 200 }],
    ['semicolons',         'timestamp;ip;method;path\n1794774846;192.0.2.9;GET;/a?b', { atMs: then, client: '192.0.2.9', route: 'GET /a' }],
    ['tabs',               'time\tip\tstatus\n2026-11-15 20:34:06\t192.0.2.9\t404', { atMs: then, client: '192.0.2.9', status: 404 }],
    ['a name of nothing',  '\ttime\tip\n0\t2026-11-15 20:34:06\t192.0.2.9',      { atMs: then, client: '192.0.2.9' }],
    ['blanks before names', ' time,ip\n2026-11-15 20:34:06,192.0.2.9',            { atMs: then, client: '192.0.2.9' }],
    ['names in quotes',    '"Time","Client_IP"\n"2026-11-15T20:34:06Z","192.0.2.9"', { atMs: then, client: '192.0.2.9' }],
    ['CRLF',               `${names}\r\n250,c7,1,200,5,,a\r\n`,                   { client: 'c7', route: 'a' }],
    ['a mark of UTF-8',    `\ufeff${names}\n250,c7,1,200,5,,a`,                   { atMs: 250, client: 'c7' }],
    ['a comment first',    `# exported\n${names}\n250,c7,1,200,5,,a`,             { atMs: 250, client: 'c7' }],
    ['language models',    'TIMESTAMP,ContextTokens,GeneratedTokens\n2026-11-15 20:34:06.6805900,374,44',
                           { atMs: then + 680, client: 'all', cost: 418 }, { key: 'all', cost: 'ContextTokens+GeneratedTokens' }],
    ['names that are told', 'when,who\n5,bob',                                    { atMs: 5000, client: 'bob' }, { time: 'when', key: 'who' }],
    ['a user',             'ts,user,ip\n5,bob,192.0.2.9',                         { atMs: 5000, client: 'bob|192.0.2.9' }, { key: 'user+ip' }],
  ];
  it.each(rows)('%s', (_, log, call, options) => {
    expect(only(log, options)).toMatchObject({ ...call, format: 'csv' });
  });

  it('finds a column that the first rows leave empty', () => {
    const rows = Array.from({ length: 100 }, (_, i) => `${i},a,1,,,,\n`);
    const { calls } = readAll([`${names}\n`, ...rows, '100,a,1,503,,,GET /late\n']);
    expect(calls.at(-1)).toMatchObject({ status: 503, route: 'GET /late' });
  });

  it('reads rows whose first cell is empty, also between tabs', () => {
    const at = '2026-11-15 20:34:06';
    const { calls, report } = readAll([`user\ttime\tstatus\n\t${at}\t200\nann\t${at}\t200\n\t\t\n`], { key: 'user' });
    expect(calls.map(({ client }) => client)).toEqual(['ann']);
    expect(report).toMatchObject({ read: 1, withoutKey: 1, malformed: 0, skipped: 2 });
    // Also when the format is known already.
    const many = Array.from({ length: 100 }, () => `\t${at}\t404\n`);
    const later = readAll(['user\ttime\tstatus\n', ...many], { key: 'all' });
    expect(later.calls.filter(({ status }) => status === 404)).toHaveLength(100);
  });

  it('takes a line that begins with # for a row where it has a cell for each name, and for a comment otherwise', () => {
    const rows = [
      'client,time',
      '#42,5',
      '# all of them, from 1 to 2, exported',
      '# by hand',
      'b,6',
      '#43,7',
      '#44,then',
    ];
    const { calls, report } = readAll([`# first, of all\n${rows.join('\n')}\n`], { key: 'client' });
    expect(calls.map(({ client }) => client)).toEqual(['#42', 'b', '#43']);
    expect(report).toMatchObject({ lines: 8, read: 3, skipped: 4, malformed: 1, firstMalformed: [{ line: 8 }] });
    const many = Array.from({ length: 100 }, (_, i) => `#${i},${i}\n# ${i}\n`);
    const later = readAll(['client,time\n', ...many], { key: 'client' });
    expect([later.report.read, later.report.skipped]).toEqual([100, 101]);
    expect(readAll(['time\n# a comment\n5\n'], { key: 'all' }).report).toMatchObject({ read: 1, skipped: 2 });
  });

  it('skips the row of names of a second file', () => {
    const { calls, report } = readAll([`${names}\n0,a,1,,,,\n`, `${names}\n1,b,1,,,,\n`]);
    expect(calls.map(({ client }) => client)).toEqual(['a', 'b']);
    expect(report).toMatchObject({ lines: 4, read: 2, skipped: 2, malformed: 0 });
  });
});
