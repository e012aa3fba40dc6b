// What people are told about the section `gateway`, as pictures: under a line, a caret where the problem is, and what is said there.
import { expect, test } from 'vitest';
import { readPictures, told } from './problem-pictures.test-support.ts';

const pictures = `
gateway:
^ gateway is empty; it must be a map of listen, admin, tls, http2, trustProxy, identify, limits, accessLog, admissions, routes, upstreams. To leave it at its default, remove the line.
=====
gateway: { listen: 8000 }
^ gateway.upstreams is missing; it must be a map of upstreams by name, such as { api: { members: [127.0.0.1:9001] } }.
=====
gateway: { upstreams: {} }
                      ^ gateway.upstreams must be a map of upstreams by name, such as { api: { members: [127.0.0.1:9001] } }, got an empty map.
=====
gateway: { upstreams: { api: { members: [] } } }
                                        ^ gateway.upstreams.api.members must be a list of addresses, such as [127.0.0.1:9001], got an empty list.
=====
gateway: { upstreams: { api: { member: [a:1] } } }
                        ^ gateway.upstreams.api.members is missing; it must be a list of addresses, such as [127.0.0.1:9001].
                               ^ gateway.upstreams.api.member is not a field. Did you mean members?
=====
gateway: { upstreams: { "my api": { members: [a:1] } } }
                        ^ gateway.upstreams["my api"] must be a name of 1 to 128 letters, digits, dots, _ and -.
=====
gateway:
  upstreams:
    api:
      members:
        - https://a:1
          ^ gateway.upstreams.api.members[0] must be an address such as 127.0.0.1:9001 or http://api.internal:9001, or a map of address, weight, got "https://a:1".
        - a
          ^ gateway.upstreams.api.members[1] must be an address such as 127.0.0.1:9001 or http://api.internal:9001, or a map of address, weight, got "a".
        - http://b:80/path
          ^ gateway.upstreams.api.members[2] must be an address such as 127.0.0.1:9001 or http://api.internal:9001, or a map of address, weight, got "http://b:80/path".
        - c:0
          ^ gateway.upstreams.api.members[3] must have a port from 1 to 65535, got 0.
        - { address: d:65536 }
                     ^ gateway.upstreams.api.members[4].address must have a port from 1 to 65535, got 65536.
        - { address: e:1, weight: heavy }
                                  ^ gateway.upstreams.api.members[5].weight must be a number above 0 to 1000000, got "heavy".
        - { address: f:1, weight: 0 }
                                  ^ gateway.upstreams.api.members[6].weight must be a number above 0 to 1000000, got 0.
        - { weight: 1 }
          ^ gateway.upstreams.api.members[7].address is missing; it must be an address such as 127.0.0.1:9001 or http://api.internal:9001.
        - g:1
        - { address: http://G:1/ }
                     ^ gateway.upstreams.api.members[9].address is g:1, as members[8] is. For more of the load give it a weight.
=====
gateway: { upstreams: { api: { members: [a:1], balancer: two-choice } } }
                                                         ^ gateway.upstreams.api.balancer must be one of round-robin, smooth-weighted, least-connections, hash-ring, two-choices, random, shortest-queue, peak-ewma, got "two-choice". Did you mean two-choices?
=====
gateway: { upstreams: { api: { members: [a:1], stickyBy: cookie:sid } } }
                                               ^ gateway.upstreams.api.stickyBy needs the balancer hash-ring, and this is "two-choices". Only hash-ring keeps a client at its member.
=====
gateway: { upstreams: { api: { members: [a:1], balancer: hash-ring, stickyBy: "header:a b" } } }
                                                                              ^ gateway.upstreams.api.stickyBy must be header:name, cookie:name, query:name, or a field such as user or ip, got "header:a b".
=====
gateway: { upstreams: { api: { members: [a:1], balancer: hash-ring, stickyBy: x-user } } }
                                                                              ^ gateway.upstreams.api.stickyBy is "x-user", and there is no such field. There are ip, method, path, host, route. A header is written header:x-user.
=====
gateway: { upstreams: { api: { members: [a:1], health: { interval: 1s } } } }
                                               ^ gateway.upstreams.api.health.path is missing; it must be a path such as /healthz.
=====
gateway: { upstreams: { api: { members: [a:1], health: { path: healthz, status: 399-200 } } } }
                                                               ^ gateway.upstreams.api.health.path must be a path such as /healthz, got "healthz".
                                                                                ^ gateway.upstreams.api.health.status must be from the smaller to the larger status, got "399-200".
=====
gateway: { upstreams: { api: { members: [a:1], health: { path: /, status: ok } } } }
                                                                          ^ gateway.upstreams.api.health.status must be a status such as 200, or a range such as 200-399, got "ok".
=====
gateway: { upstreams: { api: { members: [a:1], outliers: { ejection: 10m } } } }
                                               ^ gateway.upstreams.api.outliers.longestEjection must be at least ejection (600000 ms), got 300000 ms.
=====
gateway: { upstreams: { api: { members: [a:1], outliers: often } } }
                                                         ^ gateway.upstreams.api.outliers must be a map of consecutiveFailures, ejection, longestEjection, mostEjectedShare, or true, or false, got "often".
=====
gateway: { upstreams: { api: { members: [a:1], breaker: { failureRatio: 50 } } } }
                                                                        ^ gateway.upstreams.api.breaker.failureRatio must be a number above 0 to 1, got 50.
=====
gateway: { upstreams: { api: { members: [a:1], retries: { on: [200] } } } }
                                                               ^ gateway.upstreams.api.retries.on[0] must be a whole number from 400 to 599, got 200.
=====
gateway: { upstreams: { api: { members: [a:1], timeouts: { connect: 30d } } } }
                                                                    ^ gateway.upstreams.api.timeouts.connect must be at most 24 days, got "30d".
=====
gateway:
^ gateway.routes is missing; with 2 upstreams it must say which requests go to which.
  upstreams: { api: { members: [a:1] }, web: { members: [b:1] } }
=====
gateway:
  upstreams: { api: { members: [a:1] }, web: { members: [b:1] } }
  admissions: { main: {} }
  routes:
    - { name: a, upstream: apii, match: { path: /a } }
                           ^ gateway.routes[0].upstream is "apii", and there is no such upstream. Did you mean api?
    - { name: b, upstream: nowhere, match: { path: /b } }
                           ^ gateway.routes[1].upstream is "nowhere", and there is no such upstream. There are api, web.
    - { name: c, match: { path: /c } }
      ^ gateway.routes[2].upstream is missing; it must be one of api, web.
    - { name: d, upstream: api, admission: mian, match: { path: /d } }
                                           ^ gateway.routes[3].admission is "mian", and there is no such admission. Did you mean main?
    - { name: e, upstream: api, priority: 1, match: { path: /e } }
                                ^ gateway.routes[4].priority means nothing without admission: where nobody waits, nobody goes first.
    - { name: e, upstream: api, match: { path: /f } }
              ^ gateway.routes[5].name is "e", as gateway.routes[4].name is. Metrics go by the name: give each route its own.
    - { upstream: api, match: { path: /g } }
      ^ gateway.routes[6].name is missing; it must be text of 1 to 128 characters.
    - { name: none, upstream: api, match: { path: /h } }
              ^ gateway.routes[7].name is "none", which metrics call requests that no route takes. Choose another name.
=====
rules:
  - { name: per-ip, key: ip, algorithm: gcra, limit: 1, window: 1s }
  - { name: per-user, key: [user, path], algorithm: gcra, limit: 1, window: 1s }
gateway:
  upstreams: { api: { members: [a:1] } }
  routes:
    - name: a
      rules: [per-pi, per-user]
              ^ gateway.routes[0].rules[0] is "per-pi", and there is no such rule. Did you mean per-ip?
                      ^ gateway.routes[0].rules[1] is "per-user", whose key is user, and no request has that field. Say where it comes from, such as gateway.identify.user: header:x-user.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  routes:
    - { name: a, rules: per-ip }
                        ^ gateway.routes[0].rules is "per-ip", and there is no such rule. There are none.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  routes:
    - { name: a, match: { path: v1 } }
                                ^ gateway.routes[0].match.path must be a path such as /v1 or /v1/*, which begins with / and has no query, or a list of such, got "v1".
    - { name: b, match: { path: [/v1, "/v1?a"] } }
                                      ^ gateway.routes[1].match.path[1] must be a path such as /v1 or /v1/*, which begins with / and has no query, got "/v1?a".
    - { name: c, match: { path: /a/../b } }
                                ^ gateway.routes[2].match.path is never matched: paths are decoded and their steps back taken first. Write "/b".
    - { name: d, match: { path: [/%61/*] } }
                                 ^ gateway.routes[3].match.path[0] is never matched: paths are decoded and their steps back taken first. Write "/a/*".
    - { name: e, match: { host: "a.example:80" } }
                                ^ gateway.routes[4].match.host must be a host such as api.example.com or *.example.com, without a port, or a list of such, got "a.example:80".
    - { name: f, match: { method: "GET, POST" } }
                                  ^ gateway.routes[5].match.method must be a method such as GET, or a list of such, got "GET, POST".
    - { name: g, match: { headers: { "x beta": "*" } } }
                                     ^ gateway.routes[6].match.headers["x beta"] is no name of a header, such as x-beta.
    - { name: h, match: {} }
                        ^ gateway.routes[7].match must be a map of host, path, method, headers, got an empty map.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  routes:
    - { name: a, stripPrefix: /v1, match: { path: /v1/* } }
    - { name: b, stripPrefix: /v1, match: { path: [/v1, /v2/*] } }
                              ^ gateway.routes[1].stripPrefix is "/v1", which "/v2/*" does not begin with.
    - { name: c, stripPrefix: /v1, match: { path: /v11/* } }
                              ^ gateway.routes[2].stripPrefix is "/v1", which "/v11/*" does not begin with.
    - { name: d, stripPrefix: /v1/, match: { path: /x } }
                              ^ gateway.routes[3].stripPrefix must be a path such as /v1, without a slash at its end, got "/v1/".
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  routes:
    - { name: all }
    - { name: late, match: { path: /v1/* } }
      ^ gateway.routes[1] is never taken: gateway.routes[0] comes before it and matches all that it does. Put the narrower one first.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  routes:
    - { name: wide, match: { path: /v1/*, method: [get, POST] } }
    - { name: other, match: { path: /v1/*, method: PUT } }
    - { name: narrow, match: { path: /v1/users/*, method: GET, host: a.example } }
      ^ gateway.routes[2] is never taken: gateway.routes[0] comes before it and matches all that it does. Put the narrower one first.
    - { name: fine, match: { path: /v1*, method: GET } }
    - { name: beta, match: { path: /v2, headers: { X-Beta: "*" } } }
    - { name: stable, match: { path: /v2 } }
    - { name: beta2, match: { path: /v2, headers: { x-beta: "2" } } }
      ^ gateway.routes[6] is never taken: gateway.routes[4] comes before it and matches all that it does. Put the narrower one first.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  admissions:
    main:
      weights: { gold: 3 }
      ^ gateway.admissions.main.weights means nothing without tenant. Say where that comes from, such as tenant: header:x-tenant.
      priorities: { high: 1 }
      ^ gateway.admissions.main.priorities means nothing without priority. Say where that comes from, such as priority: header:x-priority.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  identify: { user: header:x-user }
  admissions:
    main: { tenant: usr, weights: { gold: -1 }, priority: user, priorities: { high: 10 } }
                    ^ gateway.admissions.main.tenant is "usr", and there is no such field. Did you mean user? A header is written header:usr.
                                          ^ gateway.admissions.main.weights.gold must be a number from 0.01 to 1000000, got -1.
                                                                                    ^ gateway.admissions.main.priorities.high must be a whole number from 0 to 9, got 10.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  admissions:
    main: { concurrency: { algorithm: gradiant, min: 5 } }
                                      ^ gateway.admissions.main.concurrency.algorithm must be one of aimd, vegas, gradient, got "gradiant". Did you mean gradient?
    other: { concurrency: { min: 500 } }
                          ^ gateway.admissions.other.concurrency must have a min of at most max, got 500 and 200.
    third: { concurrency: 0 }
                          ^ gateway.admissions.third.concurrency must be a whole number from 1 to 1000000, or a map of algorithm, min, max, got 0.
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  identify: { ip: header:x-real-ip, all: header:x, "a b": header:x, user: x-user, tenant: "header:x y" }
              ^ gateway.identify.ip is known of every request already. Choose another name for what a client says itself.
                                    ^ gateway.identify.all is what everybody together is called in keys of rules. Choose another name.
                                                   ^ gateway.identify["a b"] must be a name of letters, digits, _ and -, such as user.
                                                                          ^ gateway.identify.user must be header:name, cookie:name or query:name, got "x-user".
                                                                                          ^ gateway.identify.tenant must be header:name, cookie:name or query:name, got "header:x y".
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  trustProxy: [10.0.0.0/8, 10.0.0.0/33, loopback]
                           ^ gateway.trustProxy[1] must be an address or a network such as 10.0.0.0/8, loopback or private, got "10.0.0.0/33".
=====
gateway:
  upstreams: { api: { members: [a:1] } }
  trustProxy: everybody
              ^ gateway.trustProxy must be an address or a network such as 10.0.0.0/8, loopback or private, got "everybody".
=====
gateway: { listen: false, upstreams: { api: { members: [a:1] } } }
                   ^ gateway.listen must be a port from 0 to 65535, "host:port", or { host, port }, got false.
=====
gateway: { listen: "a:65536", upstreams: { api: { members: [a:1] } } }
                   ^ gateway.listen must have a port from 0 to 65535, got 65536.
=====
gateway: { listen: 8001, upstreams: { api: { members: [a:1] } } }
                   ^ gateway.listen is port 8001, and so is gateway.admin. Each door needs a port of its own.
=====
gateway: { listen: 80, admin: 80, upstreams: { api: { members: [a:1] } } }
                              ^ gateway.admin is port 80, and so is gateway.listen. Each door needs a port of its own.
=====
gateway:
  listen: 127.0.0.1:8000
  upstreams:
    api:
      members:
        - 127.0.0.1:9000
        - 127.0.0.2:8000
        - 10.0.0.1:8000
        - 127.0.0.1:8000
          ^ gateway.upstreams.api.members[3] is where the gateway itself listens: it would ask itself. Write where your service is.
        - { address: localhost:8000 }
                     ^ gateway.upstreams.api.members[4].address is where the gateway itself listens: it would ask itself. Write where your service is.
=====
gateway:
  listen: 0.0.0.0:8000
  upstreams:
    api: { members: [api.internal:8000, 10.0.0.1:8000, 127.0.0.1:8000] }
                                                       ^ gateway.upstreams.api.members[2] is where the gateway itself listens: it would ask itself. Write where your service is.
=====
gateway: { tls: { certificate: /etc/passwd }, upstreams: { api: { members: [a:1] } } }
           ^ gateway.tls.key is missing; it must be a path.
=====
gateway: { tls: { certificate: /nowhere/c.pem, key: /etc/passwd }, upstreams: { api: { members: [a:1] } } }
                               ^ gateway.tls.certificate must be a file that can be read, got /nowhere/c.pem: it does not exist.
=====
gateway: { tls: { certificate: /etc/passwd, key: /etc/passwd }, upstreams: { api: { members: [a:1] } } }
           ^ gateway.tls cannot be used: they are not what OpenSSL reads (ERR_OSSL_PEM_NO_START_LINE). Both are files in PEM.
=====
gateway: { accessLog: { format: json }, upstreams: { api: { members: [a:1] } } }
           ^ gateway.accessLog.path is missing; it must be a path.
=====
gateway: { accessLog: { path: /nowhere/log, format: nginx }, upstreams: { api: { members: [a:1] } } }
                                                    ^ gateway.accessLog.format must be one of combined, json, got "nginx".
=====
gateway: { accessLog: { path: /nowhere/log }, upstreams: { api: { members: [a:1] } } }
                              ^ gateway.accessLog.path cannot be written to: its folder /nowhere is not there: it does not exist.
`;

const cases = readPictures(pictures);

test.each(cases)('$text', ({ text, expected }) => {
  expect(expected.length).toBeGreaterThan(0);
  expect(told(text)).toEqual(expected);
});
