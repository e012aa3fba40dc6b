// A day of an access log, the same on every machine: many clients that call now and then, six that do not stop, some lines that are late.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createGzip } from 'node:zlib';
import { random } from '@sluice/simulator';

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 9, 10);
const routes = ['/', '/index.html', '/api/items', '/api/items/42', '/login', '/static/app.js', '/search', '/upload'];
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36';

/** @typedef {{ atMs: number, ip: string, route: string, status: number, bytes: number }} Call */

/** @type {Record<string, (call: Call) => string>} */
const writers = {
  combined: ({ atMs, ip, route, status, bytes }) =>
    `${ip} - - [${clfTime(atMs)}] "GET ${route} HTTP/1.1" ${status} ${bytes} "https://example.com/" "${agent}"\n`,
  json: ({ atMs, ip, route, status, bytes }) =>
    `{"time":"${new Date(atMs).toISOString()}","remote_addr":"${ip}","method":"GET","path":"${route}","status":${status},"bytes":${bytes},"agent":"${agent}"}\n`,
  csv: ({ atMs, ip, route, status, bytes }) => `${atMs},${ip},GET,${route},${status},${bytes}\n`,
};

/**
 * @param {string} path
 * @param {{ format: string, lines: number }} options
 */
export async function writeLog(path, { format, lines }) {
  const [name = '', packing] = format.split('.');
  const write = writers[name];
  if (write === undefined) throw new Error(`There is no format ${format}.`);
  const file = createWriteStream(path);
  const out = packing === 'gz' ? createGzip() : file;
  if (out !== file) out.pipe(file);
  let text = name === 'csv' ? 'time,ip,method,path,status,bytes\n' : '';
  for (const call of calls(lines)) {
    text += write(call);
    if (text.length < 1 << 20) continue;
    if (!out.write(text)) await once(out, 'drain');
    text = '';
  }
  out.end(text);
  await once(file, 'close');
}

/** @param {number} lines @returns {Generator<Call>} */
function* calls(lines) {
  const chance = random(42);
  const clients = Math.max(100, Math.floor(lines / 60));
  for (let line = 0; line < lines; line += 1) {
    const lateMs = chance.uniform() < 0.01 ? chance.uniform() * 3000 : 0;
    const atMs = startMs + Math.max(0, Math.floor((line * dayMs) / lines - lateMs));
    const isRobot = chance.uniform() < 0.08;
    const client = isRobot
      ? 900_000 + Math.floor(chance.uniform() * 6)
      : Math.floor(clients * Math.sqrt(chance.uniform()) * chance.uniform());
    const ip = `${((client * 7919) % 223) + 1}.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`;
    const route = isRobot ? '/login' : `${routes[Math.floor(chance.uniform() * routes.length)]}?q=${line & 1023}`;
    yield { atMs, ip, route, status: isRobot ? 401 : 200, bytes: Math.floor(chance.uniform() * 20_000) };
  }
}

/** @param {number} atMs */
function clfTime(atMs) {
  const at = new Date(atMs);
  const [hours, minutes, seconds] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two);
  return `${two(at.getUTCDate())}/${months[at.getUTCMonth()]}/${at.getUTCFullYear()}:${hours}:${minutes}:${seconds} +0000`;
}

/** @param {number} number */
function two(number) {
  return String(number).padStart(2, '0');
}
