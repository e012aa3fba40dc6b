// What people are told, as pictures: under a line, a caret where the problem is, and what is said there. Nothing else is said.
import { expect, test } from 'vitest';
import { readPictures, told } from './problem-pictures.test-support.ts';

const pictures = String.raw`
rules: [
        ^ A bracket is opened and not closed before this line.
=====
logs: { level: "info }
                      ^ A quote is opened and not closed.
=====
logs:
    level: info
  other: 1
  ^ This line is not indented as its neighbours are. Fields of one map begin in the same column.
=====
logs: level: info
      ^ A second field begins on this line. Put it on a line of its own; text with ": " in it needs quotes.
=====
workers: 1
logs
^ A field needs a colon and a space after its name.
=====
workers: @home
         ^ A value cannot begin with this character. Put it in quotes.
=====
workers: *x
         ^ An alias (*name) needs an anchor (&name) of that name before it.
=====
workers: !!js/function x
         ^ The tag (!name) is not known here. Remove it.
=====
workers: !!merge <<
                 ^ The tag (!name) does not fit what follows. Remove it.
=====
ipv6Subnet: 64
allow: [!!merge <<]
                ^ The tag (!name) does not fit what follows. Remove it.
=====
workers: 1
---
^ A second document begins here. Remove the line ---: a file is one configuration.
workers: 2
=====
limits: { idle: 1s request: 1s }
                ^ Inside brackets, entries need commas between them, and maps and lists need brackets of their own.
=====
workers: "\q"
          ^ The text has an escape that YAML does not know. In single quotes a backslash is only a backslash.
=====
workers: 1
workers: 2
^ workers is given twice, first on line 1. Keep one of them.
=====
rules:
  - { name: a, algorithm: gcra, limit: 1, window: 1s, limit: 2 }
                                                      ^ rules[0].limit is given twice, first on line 2. Keep one of them.
=====
# only a comment
^ The file holds nothing. For a service without rules write "rules: []".
=====
- name: a
^ The file must be a map of settings, such as "rules:" with a list under it, got a list.
=====
5
^ The file must be a map of settings, such as "rules:" with a list under it, got a number.
=====
ruels: []
^ ruels is not a field. Did you mean rules?
=====
limits:
  bodybytes: 5
  ^ limits.bodybytes is not a field. Did you mean bodyBytes?
=====
tls: {}
^ tls is not a field here. Did you mean security.tls?
=====
logs: { "a b": 1 }
        ^ logs["a b"] is not a field. There are level.
=====
__proto__: 1
^ __proto__ is not a field. There are rules, allow, deny, ipv6Subnet, store, listen, security, limits, workers, snapshot, envoy, logs, tracing, drain, studio, gateway.
=====
rules:
^ rules is empty; it must be a list of rules. To leave it at its default, remove the line.
=====
rules: {}
       ^ rules must be a list of rules, got an empty map.
=====
rules:
^ rules must be a list of rules, got a map.
  a: 1
=====
rules: [7]
        ^ rules[0] must be a map such as { name: per-ip, key: ip, algorithm: gcra, limit: 100, window: 1m }, got 7.
=====
ipv6Subnet: 31
            ^ ipv6Subnet must be a whole number from 32 to 128, got 31.
=====
workers: many
         ^ workers must be a whole number from 1 to 1024, or auto, got "many".
=====
workers: 1.5
         ^ workers must be a whole number from 1 to 1024, or auto, got 1.5.
=====
logs: { level: inof }
               ^ logs.level must be one of trace, debug, info, warn, error, fatal, silent, got "inof". Did you mean info?
=====
logs: info
      ^ logs must be a map of level, got "info".
=====
limits: { request: 0s }
                   ^ limits.request must be a time above 0, such as 250ms, 10s, 1m, 1h, 1d, or a number of milliseconds, got "0s".
=====
limits: { request: 10 s }
                   ^ limits.request must be a time above 0, such as 250ms, 10s, 1m, 1h, 1d, or a number of milliseconds, got "10 s".
=====
limits: { bodyBytes: 1tb }
                     ^ limits.bodyBytes must be a number of bytes above 0, or text such as 512b, 64kb, 1mb, got "1tb".
=====
limits: { bodyBytes: 0 }
                     ^ limits.bodyBytes must be a number of bytes above 0, or text such as 512b, 64kb, 1mb, got 0.
=====
limits: { idle: 25d }
                ^ limits.idle must be at most 24 days, got "25d".
=====
listen: { http: true }
                ^ listen.http must be a port from 0 to 65535, "host:port", { host, port }, or false to keep this door closed, got true.
=====
listen: { http: 65536 }
                ^ listen.http must be a port from 0 to 65535, "host:port", { host, port }, or false to keep this door closed, got 65536.
=====
listen: { http: "a:65536" }
                ^ listen.http must have a port from 0 to 65535, got 65536.
=====
listen: { http: "::1:80" }
                ^ listen.http must be a port from 0 to 65535, "host:port", { host, port }, or false to keep this door closed, got "::1:80".
=====
listen: { http: { host: a } }
          ^ listen.http.port is missing; it must be a whole number from 0 to 65535.
=====
tracing: { endpoint: collector }
                     ^ tracing.endpoint must be an address that begins with http:// or https://, got "collector".
=====
tracing: { endpoint: "http://" }
                     ^ tracing.endpoint must be an address with a host, such as http://127.0.0.1:4318/v1/traces; this one cannot be read.
=====
tracing: { endpoint: "http://me:hunter2@" }
                     ^ tracing.endpoint must be an address with a host, such as http://127.0.0.1:4318/v1/traces; this one cannot be read.
=====
tracing: { sampleRatio: 1 }
^ tracing.endpoint is missing; it must be an address that begins with http:// or https://.
=====
allow: [{}]
        ^ allow[0] must be a map of fields, such as { path: /upload, method: POST }, got an empty map.
=====
deny: { ip: [] }
            ^ deny.ip must be text such as /upload or /api/*, or a list of texts, got an empty list.
=====
rules:
  - algorithm: gcra
    ^ rules[0].name is missing; it must be text of 1 to 128 characters.
    limit: 1
    window: 1s
=====
rules:
  - name: a
    algorithm: gcra
    limit: 0
           ^ rules[0].limit must be a number above 0, got 0. To refuse somebody always, use deny.
    window: 1s
=====
rules:
  - name: a
    algorithm: gcra
    limit: "5"
           ^ rules[0].limit must be a number above 0, got "5".
    window: 1s
=====
rules:
  - name: a
    ^ rules[0].window is missing; it must be a time above 0. Give milliseconds as a number, or text such as "250ms", "10s", "1m", "1h", "1d", "1w".
    algorithm: gcra
    limit: 1
=====
rules:
  - name: a
    algorithm: gcr
               ^ rules[0].algorithm must be one of token-bucket, gcra, leaky-bucket, fixed-window, sliding-log, sliding-slots, sliding-window, smooth, concurrency, got "gcr". Did you mean gcra?
    limit: 1
    window: 1s
=====
rules:
  - name: a
    ^ rules[0].algorithm is missing; it must be one of token-bucket, gcra, leaky-bucket, fixed-window, sliding-log, sliding-slots, sliding-window, smooth, concurrency.
    limit: 1
    window: 1s
=====
rules:
  - name: a
    algorithm: gcra
    limit: 1
    window: 1s
    slots: 3
    ^ rules[0].slots is not a field of gcra. It takes limit, window, burst.
=====
rules:
  - name: a
    algorithm: gcra
    limit: 1
    window: 1s
    brust: 3
    ^ rules[0].brust is not a field. Did you mean burst?
=====
rules:
  - { name: a, algorithm: gcra, limit: 1, window: 1s, key: [] }
                                                           ^ rules[0].key must be a field such as ip, a list of fields such as [user, path], or all, got an empty list.
=====
rules:
  - { name: a, algorithm: gcra, limit: 1, window: 1s, match: { path: { a: 1 } } }
                                                                     ^ rules[0].match.path must be text such as /upload or /api/*, or a list of texts, got a map.
=====
rules:
  - { name: a, algorithm: gcra, limit: 1, window: 1s, onStoreFailure: close }
                                                                      ^ rules[0].onStoreFailure must be one of closed, open, local, got "close". Did you mean closed?
=====
rules:
  - { name: a, algorithm: gcra, limit: 1, window: 1s, tiers: {} }
                                                             ^ rules[0].tiers must be a map of policies by tier, such as { free: { limit: 10, window: 1m } }, got an empty map.
=====
rules:
  - { name: a, algorithm: gcra, limit: 1, window: 1s }
  - { name: a, algorithm: gcra, limit: 1, window: 1s }
            ^ rules[1].name is "a", as rules[0].name is. State belongs to the name: give each rule its own.
=====
rules:
  - name: a
    algorithm: gcra
    window: 1m
    tiers:
      free: { limit: 1 }
      paid: { limit: 0 }
                     ^ rules[0].tiers.paid.limit must be a number above 0, got 0. To refuse somebody always, use deny.
=====
rules:
  - name: a
    algorithm: gcra
    window: 0
            ^ rules[0].window must be a time above 0, got 0. Give milliseconds as a number, or text such as "250ms", "10s", "1m", "1h", "1d", "1w".
    tiers:
      free: { limit: 1 }
      paid: { limit: 2 }
=====
rules:
  - name: a
    algorithm: gcra
    tiers:
      free: { limit: 1 }
      ^ rules[0].tiers.free.window is missing; it must be a time above 0. Give milliseconds as a number, or text such as "250ms", "10s", "1m", "1h", "1d", "1w".
=====
rules:
  - name: a
    algorithm: gcra
    limit: 1
    window: 1s
    tiers: { free: { limt: 1 } }
                     ^ rules[0].tiers.free.limt is not a field. Did you mean limit?
=====
rules:
  - name: a
    algorithm: sliding-log
    limit: 5
    window: 1s
    minGap: 2s
            ^ rules[0].minGap must be at most the window (1000 ms), got 2000.
=====
rules:
  - name: a
    ^ rules[0] cannot work: limit, window and burst must be exact together, got [0.3,4233600000,100000000000000]. Use a smaller burst or rounder numbers.
    algorithm: gcra
    limit: 0.3
    window: 7w
    burst: 100000000000000
=====
store: { type: redis }
^ store.url is missing; the redis store needs the address of its server, such as redis://127.0.0.1:6379.
=====
store: { url: "redis://a" }
         ^ store.url is a setting of the redis store, and store.type is memory. Set store.type to redis, or remove it.
=====
store: { maxKeys: 1073741825 }
                  ^ store.maxKeys must be a whole number from 1 to 1073741824, got 1073741825.
=====
store: { type: redis, url: "redis://a", maxKeys: 5 }
                                        ^ store.maxKeys is a setting of the memory and owned stores, and store.type is redis. Set store.type to one of these, or remove it.
=====
store: { type: redis, url: "http://:hunter2@a" }
                           ^ store.url must be an address that begins with redis:// or rediss://, got other text.
=====
store: { type: redis, url: "redis://:hunter2@a:x" }
                           ^ store.url is not an address. It is written redis://user:password@host:port, special characters percent-encoded.
=====
store: { type: redis, url: "redis://a" }
snapshot: { path: /etc/none }
^ snapshot is for the memory store; Redis keeps the counts itself. Remove it, or set store.type to memory.
=====
listen:
  http: 9000
  resp: 9000
        ^ listen.resp is port 9000, and so is listen.http. Each door needs a port of its own.
=====
listen:
  http: 0.0.0.0:9000
  resp: 9000
        ^ listen.resp is port 9000, and so is listen.http. Each door needs a port of its own.
=====
listen: { admin: 8080 }
                 ^ listen.admin is port 8080, and so is listen.http. Each door needs a port of its own.
=====
security: { token: 5 }
                   ^ security.token must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints, got a number.
=====
security: { token: "a b" }
                   ^ security.token must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints, got other text.
=====
security: { tokens: [hunter2, [hunter2]] }
                              ^ security.tokens[1] must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints, got a list.
=====
security: { tokens: [hunter2, pässwort] }
                              ^ security.tokens[1] must be text of visible ASCII characters without blanks, such as "openssl rand -hex 32" prints, got other text.
=====
security: { tokenFile: /nowhere/tokens }
                       ^ security.tokenFile names /nowhere/tokens, which cannot be read: it does not exist.
=====
security: { tls: { certificate: /nowhere/c.pem, key: /etc } }
                                ^ security.tls.certificate must be a file that can be read, got /nowhere/c.pem: it does not exist.
                                                     ^ security.tls.key must be a file that can be read, got /etc: it is a folder.
=====
security: { tls: { certificate: a } }
            ^ security.tls.key is missing; it must be a path.
=====
envoy: { directory: /nowhere }
                    ^ envoy.directory must be a folder that can be read, got /nowhere: it does not exist.
=====
envoy: { directory: /etc/passwd }
                    ^ envoy.directory must be a folder that can be read, got /etc/passwd: it is not a folder.
=====
snapshot: { path: /nowhere/s }
                  ^ snapshot.path cannot be written to: its folder /nowhere is not there: it does not exist.
=====
snapshot: { path: /tmp }
                  ^ snapshot.path must be a file, and /tmp is a folder.
`;

const cases = readPictures(pictures);

test.each(cases)('$text', ({ text, expected }) => {
  expect(expected.length).toBeGreaterThan(0);
  expect(told(text)).toEqual(expected);
});

const aliasesOfAliases = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...[...'bcdefghi'].map((name, i) => `${name}: &${name} [${Array(10).fill(`*${'abcdefghi'[i]}`).join(',')}]`),
];

// What cannot be drawn.
const others: [title: string, text: string, expected: string][] = [
  ['nothing', '', '1:1 The file holds nothing. For a service without rules write "rules: []".'],
  ['a tab', 'rules:\n\t- name: a', '2:1 A tab indents this line. YAML takes spaces only.'],
  ['carriage returns', 'workers: 1\r\nlogs: 5\r\n', '2:7 logs must be a map of level, got 5.'],
  [
    'letters outside ASCII before it',
    '{ "logs": { level: "ü→🦊" } }',
    '1:20 logs.level must be one of trace, debug, info, warn, error, fatal, silent, got "ü→🦊".',
  ],
  [
    'aliases of aliases',
    aliasesOfAliases.join('\n'),
    '1:1 The file has aliases that stand for more than 1000 repetitions. Write them out, or fewer.',
  ],
  ['20,000 brackets', `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`, '1:821 The file is nested too deeply.'],
  [
    'a time of 400 digits',
    `drain: ${'9'.repeat(400)}d`,
    `1:8 drain must be at most 24 days, got "${'9'.repeat(76)}....`,
  ],
  [
    'a value of 400 letters',
    `workers: ${'x'.repeat(400)}`,
    `1:10 workers must be a whole number from 1 to 1024, or auto, got "${'x'.repeat(76)}....`,
  ],
  [
    'a name of 400 letters',
    `${'x'.repeat(400)}: 1`,
    `1:1 ${'x'.repeat(77)}... is not a field. There are rules, allow, deny, ipv6Subnet, store, listen, security, limits, workers, snapshot, envoy, logs, tracing, drain, studio, gateway.`,
  ],
];
test.each(others)('%s', (_, text, expected) => expect(told(text)).toEqual([expected]));
