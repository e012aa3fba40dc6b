/**
 * A log read the way that first comes to mind: text, lines, a regular expression, JSON.parse, Date. What the reader must agree with on lines that
 * are in order, and what it is compared with in benchmarks.
 */

export interface NaiveCall {
  readonly atMs: number;
  readonly client: string;
  readonly cost: number;
  readonly status: number;
  readonly route: string;
}

export type NaiveReader = (line: string) => NaiveCall | undefined;

const combined = /^(\S+) \S+ \S+ \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}|-) (\d+|-)/;
const clf = /^(\d\d)\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)$/;

export const naiveCombined: NaiveReader = (line) => {
  const found = combined.exec(line);
  const date = clf.exec(found?.[2] ?? '');
  if (found === null || date === null) return undefined;
  const [, client = '', , request = '', status] = found;
  const [, day, month, year, time, hours, minutes] = date;
  const [method = '', target = ''] = request.split(' ');
  return {
    atMs: Date.parse(`${day} ${month} ${year} ${time} GMT${hours}${minutes}`),
    client,
    cost: 1,
    status: Number(status),
    route: `${method} ${target.split('?')[0]}`,
  };
};

export const naiveJson: NaiveReader = (line) => {
  const { time, client, status, method, target } = JSON.parse(line);
  return { atMs: Date.parse(time), client, cost: 1, status, route: `${method} ${target.split('?')[0]}` };
};

export const naiveCsv: NaiveReader = (line) => {
  const [atMs, client = '', cost, status, , , route = ''] = line.split(',');
  return { atMs: Number(atMs), client, cost: Number(cost), status: Number(status), route: route.replaceAll('"', '') };
};

const hosts = ['https://example.org/', 'https://example.org/search?q=limits', '-'];
const agents = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0',
  'curl/8.10.1',
];
const paths = [
  '/',
  '/orders?page=2',
  '/images/logo-large.png',
  '/presentations/2026/limits/index.html',
  '/api/v1/users/42/orders',
];
const beginMs = Date.UTC(2026, 10, 15, 20, 0, 0);

/** A call of a made-up log: twenty a second, from two thousand addresses. */
function madeUp(i: number) {
  return {
    at: new Date(beginMs + i * 50),
    client: `198.51.${(i * 7919) % 8}.${(i * 104_729) % 250}`,
    method: i % 7 === 0 ? 'POST' : 'GET',
    target: paths[i % paths.length]!,
    status: i % 31 === 0 ? 404 : 200,
    bodyBytes: (i * 7919) % 100_000,
    referer: hosts[i % hosts.length]!,
    agent: agents[i % agents.length]!,
  };
}

function clfTime(at: Date): string {
  const [, day, month, year, time] = at.toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}

export function commonLine(i: number): string {
  const { at, client, method, target, status, bodyBytes } = madeUp(i);
  return `${client} - - [${clfTime(at)}] "${method} ${target} HTTP/1.1" ${status} ${bodyBytes}`;
}

export function combinedLine(i: number): string {
  const { referer, agent } = madeUp(i);
  return `${commonLine(i)} "${referer}" "${agent}"`;
}

/** As the gateway of Sluice writes it. */
export function jsonLine(i: number): string {
  const { at, client, method, target, status, bodyBytes, referer, agent } = madeUp(i);
  const [protocol, host, route, upstream] = ['HTTP/1.1', 'shop.example.org', 'shop', 'http://10.0.0.7:8080'];
  return JSON.stringify({
    ...{ time: at.toISOString(), client, method, target, protocol, host, status, bytes: bodyBytes, durationMs: 4.219 },
    ...{ route, rule: null, upstream, attempts: 1, referer, userAgent: agent },
  });
}

export const csvNames = 't_ms,client,cost,status,bytes,latency_ms,route';

export function csvLine(i: number): string {
  const { client, method, target, status, bodyBytes } = madeUp(i);
  return `${i * 50},${client},1,${status},${bodyBytes},${i % 100},"${method} ${target.split('?')[0]}"`;
}
