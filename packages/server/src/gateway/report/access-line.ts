/**
 * A request as a line of the access log.
 *
 *      combined   203.0.113.9 - - [15/Nov/2026:20:34:06 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://example.org/" "curl/8"
 *      json       {"time":"2026-11-15T20:34:06.123Z","client":"203.0.113.9","method":"GET","target":"/a?b=c","status":200, ...}
 *
 * The time is that of its arrival, so that a log can be replayed. What came from the client is escaped: it cannot end the line and begin
 * another, nor move the cursor of whoever reads it. Who it says it is (`Authorization`) is in neither.
 */
import type { Passage } from '../passage.ts';
import { linesOf } from '../stages/source.ts';

/** Where nobody was answered: the client had left. nginx's number for it. */
const nobodyAnswered = 499;

export interface AccessEntry {
  readonly timeMs: number;
  readonly durationMs: number;
  readonly client: string;
  readonly method: string;
  readonly target: string;
  readonly protocol: string;
  readonly host: string;
  readonly status: number;
  readonly bytes: number;
  readonly referer: string;
  readonly userAgent: string;
  readonly route: string;
  /** The rule that refused it; empty: none did. */
  readonly rule: string;
  /** The member that answered, or was asked last. */
  readonly upstream: string;
  readonly attempts: number;
}

export function entryOf(passage: Passage, durationMs: number): AccessEntry {
  const { exchange, limits } = passage;
  const { request, client } = exchange;
  return {
    timeMs: passage.startedMs,
    durationMs,
    client: passage.address,
    method: request.method,
    target: request.target,
    protocol: client.protocol,
    host: request.authority,
    status: exchange.status || nobodyAnswered,
    bytes: exchange.bodyBytes,
    referer: linesOf(request.headers, 'referer')?.[0] ?? '',
    userAgent: linesOf(request.headers, 'user-agent')?.[0] ?? '',
    route: passage.route?.config.name ?? '',
    rule: limits === undefined || limits.allowed ? '' : (limits.tightest?.rule ?? limits.list ?? ''),
    upstream: passage.member,
    attempts: passage.attempts,
  };
}

export function combinedLine(entry: AccessEntry): string {
  const { client, method, target, protocol, status, bytes, referer, userAgent, timeMs } = entry;
  const request = `${plain(method)} ${plain(target)} ${protocol}`;
  return `${client} - - [${clfTime(timeMs)}] "${request}" ${status} ${bytes} "${plain(referer) || '-'}" "${plain(userAgent) || '-'}"\n`;
}

export function jsonLine(entry: AccessEntry): string {
  const { timeMs, durationMs, client, method, target, protocol, host, status, bytes } = entry;
  const { route, rule, upstream, attempts, referer, userAgent } = entry;
  return (
    `{"time":"${new Date(timeMs).toISOString()}","client":${jsonText(client)},"method":${jsonText(method)},` +
    `"target":${jsonText(target)},"protocol":"${protocol}","host":${jsonText(host)},"status":${status},"bytes":${bytes},` +
    `"durationMs":${Math.round(durationMs * 1000) / 1000},"route":${textOrNull(route)},"rule":${textOrNull(rule)},` +
    `"upstream":${textOrNull(upstream)},"attempts":${attempts},"referer":${textOrNull(referer)},"userAgent":${textOrNull(userAgent)}}\n`
  );
}

// A target may be as long as a head; nobody reads that in a log.
const longest = 4096;

const unplain = /[^\x20-\x7e]|["\\]/g;

/** As nginx and Apache escape: whatever is not printable ASCII, and what ends a field, by its number. */
function plain(text: string): string {
  return cut(text).replace(unplain, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).toUpperCase().padStart(2, '0')}` : '?';
  });
}

// JSON lets DEL and what follows it through; a terminal may act on them.
const beyondPrintable = /[\u007f-\uffff]/g;

function jsonText(text: string): string {
  return JSON.stringify(cut(text)).replace(beyondPrintable, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function textOrNull(text: string): string {
  return text === '' ? 'null' : jsonText(text);
}

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}...` : text;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
let knownSecond = Number.NaN;
let knownTime = '';

/** `15/Nov/2026:20:34:06 +0000`; made once for all requests of a second. */
function clfTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second === knownSecond) return knownTime;
  const iso = new Date(second * 1000).toISOString();
  knownSecond = second;
  knownTime = `${iso.slice(8, 10)}/${months[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`;
  return knownTime;
}
