/**
 * HTTP/JSON. One request's way:
 *
 *      route ──► token ──► body ──► the route's answer ──► one write
 *
 * Plain checks take a shorter one to the same answer (`short-way.ts`).
 * Where the service answers at once, so does the door: no promise, no timer. Everything that is wrong is thrown as a `Problem` and
 * answered as one.
 */
import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Clock } from 'sluice';
import type { Door, DoorSettings, TlsFiles } from '../service/door.ts';
import type { Answer, Service, TraceContext } from '../service/service.ts';
import { Connections } from './connections.ts';
import { mustNotBeForeign } from './foreign-page.ts';
import { LiveStreams } from './live-streams.ts';
import type { PlainHead } from './plain-head.ts';
import { Problem, problemOf, problemReply } from './problem.ts';
import type { Reply } from './reply.ts';
import { collectBody, mustBeJson, mustBePlain } from './request-body.ts';
import type { Call, Route } from './route.ts';
import { type Found, router } from './router.ts';
import type { Serves } from './routes.ts';
import type { Site } from './site.ts';

export interface HttpDoorSettings extends DoorSettings {
  /** Whether checks, the administration, or both are to be had here. */
  readonly serves: Serves;
  /** What browsers get at `/`, unless there are only checks here. Undefined: the text that others get. */
  readonly site?: Site | undefined;
  /** By which those who watch are told every second. Default: real time. */
  readonly clock?: Clock | undefined;
}

const nothing = Buffer.alloc(0);

/** What a route is told of the request beside its path and body. */
type Asking = Pick<Call, 'headers' | 'trace' | 'watch'>;

const noHeaders: Call['headers'] = {};

export function httpDoor(service: Service, settings: HttpDoorSettings): Door {
  const { limits, meter, log, tokens, serves, tls, site, clock } = settings;
  const { find } = router(serves, limits.keyBytes, site);
  const live = new LiveStreams(() => service.status(), { ...limits, log, clock });
  // At the administration's own door more is asked of whoever checks (foreign-page.ts), and few do.
  const check = serves === 'administration' ? undefined : (find('POST', '/v1/check') as Found);

  function handle(request: IncomingMessage, response: ServerResponse): void {
    meter.requests += 1;
    try {
      const { url = '', method = '', headers } = request;
      if (headers.host === undefined && request.httpVersion === '1.1')
        throw new Problem(400, 'The Host header is missing, which HTTP/1.1 requires.');
      if (hasTwoHosts(request)) throw new Problem(400, 'There is more than one Host header. Send one (RFC 9112, 3.2).');
      const found = find(method, url);
      const isGuarded = tokens.areNeeded || tls !== undefined;
      if ('route' in found) mustNotBeForeign(request, found.route, { serves, isGuarded });
      mustBeAuthorized(headers.authorization, 'route' in found ? found.route : undefined);
      if ('allow' in found) send(request, response, methodsReply(method, found.allow));
      else serve(request, response, found);
    } catch (error) {
      send(request, response, failed(error, request.url));
    }
  }

  function serve(request: IncomingMessage, response: ServerResponse, found: Found): void {
    const { headers } = request;
    const { body } = found.route;
    connections.mustNotBeCrowded(request.socket);
    if (body === undefined) {
      reply(request, response, found, nothing);
      return;
    }
    if (body === 'json') mustBeJson(headers);
    else mustBePlain(headers);
    collectBody(request, limits.bodyBytes, (bytes, problem) => {
      if (problem === undefined) reply(request, response, found, bytes);
      else send(request, response, failed(problem, request.url));
    });
  }

  function reply(request: IncomingMessage, response: ServerResponse, found: Found, body: Buffer): void {
    const { socket, headers } = request;
    const answer = answerOf(found, body, {
      headers,
      trace: traceOf(headers.traceparent, headers.tracestate),
      watch: () => live.reply(socket, () => !tokens.areNeeded || tokens.hasBearer(headers.authorization)),
    });
    if (!(answer instanceof Promise)) {
      send(request, response, answer);
      return;
    }
    connections.waits(socket);
    void answer.then((later) => {
      connections.answered(socket);
      send(request, response, later);
    });
  }

  /** What the short way answers: the same, without Node's request and response. */
  function answerCheck({ authorization, traceparent, tracestate }: PlainHead, body: Buffer): Answer<Reply> {
    meter.requests += 1;
    const found = check as Found;
    try {
      mustBeAuthorized(authorization, found.route);
    } catch (error) {
      return failed(error, found.route.path);
    }
    return answerOf(found, body, { headers: noHeaders, trace: traceOf(traceparent, tracestate), watch: notHere });
  }

  /** The route's answer. It neither throws nor rejects: what is wrong is an answer too. */
  function answerOf({ route, parameters, query }: Found, body: Buffer, asking: Asking): Answer<Reply> {
    try {
      const { headers, trace, watch } = asking;
      const answer = route.answer({ service, limits, parameters, query, body, headers, trace, watch });
      return answer instanceof Promise ? answer.catch((error) => failed(error, route.path)) : answer;
    } catch (error) {
      return failed(error, route.path);
    }
  }

  function mustBeAuthorized(authorization: string | undefined, route: Route | undefined): void {
    // Asked each time: tokens may change while the service runs.
    if (!tokens.areNeeded || route?.isOpen || tokens.hasBearer(authorization)) return;
    meter.unauthorized += 1;
    throw new Problem(401, 'A valid token is needed. Send the header Authorization: Bearer <token>.', {
      headers: ['WWW-Authenticate', 'Bearer realm="sluice"'],
    });
  }

  function failed(error: unknown, path: string | undefined): Reply {
    const problem = problemOf(error);
    if (problem === undefined) {
      log.error({ err: error, path }, 'a request failed');
      return problemReply(new Problem(500, 'The service failed at this request. Its log says why.'));
    }
    if (isMalformed(problem.status)) meter.malformed += 1;
    return problemReply(problem);
  }

  function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
    if (response.headersSent || response.destroyed) return;
    const { status, type, headers, stream } = reply;
    const content = reply.bytes ?? reply.body;
    const list: string[] = type === '' ? [] : ['Content-Type', type];
    if (type !== '' && stream === undefined) list.push('Content-Length', String(Buffer.byteLength(content)));
    for (let at = 0; at < headers.length; at += 1) list.push(headers[at] as string);
    if (connections.isDraining) list.push('Connection', 'close');
    response.writeHead(status, list);
    if (stream === undefined || request.method === 'HEAD') response.end(content);
    else stream(response);
    // What is left of a body that nobody wanted.
    if (!request.complete) request.resume();
  }

  const server = serverOf(tls, {
    requireHostHeader: false,
    maxHeaderSize: 16 * 1024,
    // Slow requests are looked for so often: they may last so much longer. Node takes whole milliseconds only.
    connectionsCheckingInterval: Math.ceil(Math.min(5000, Math.max(50, limits.requestMs / 4))),
  });
  const connections = new Connections(server, settings, check && answerCheck);
  server.on('request', handle);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Whoever asks first is spared sending what would not be read.
    if (!(Number(request.headers['content-length']) > limits.bodyBytes)) response.writeContinue();
    handle(request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    meter.requests += 1;
    const problem = new Problem(417, `Expect must be 100-continue, got ${JSON.stringify(request.headers.expect)}.`);
    send(request, response, failed(problem, request.url));
  });

  return {
    server,
    listen: (on) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(on, () => {
          server.off('error', reject);
          resolve();
        });
      }),
    async drain(timeoutMs) {
      live.end();
      await connections.drain(timeoutMs);
    },
  };
}

/** Node keeps the first and forgets the others; whoever is in front may have gone by another one. */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (/^host$/i.test(rawHeaders[at] as string)) hosts += 1;
  return hosts > 1;
}

/** The short way has checks only, which nobody watches. */
function notHere(): never {
  throw new Error('a check has no stream');
}

/** Too big, of the wrong kind, or not to be understood; a wrong path or method is none of these. */
function isMalformed(status: number): boolean {
  return status === 400 || status === 413 || status === 415;
}

/** The answer to a method that a path does not have; OPTIONS is the question which ones it has. */
function methodsReply(method: string, allow: string): Reply {
  const headers = ['Allow', allow];
  if (method === 'OPTIONS') return { status: 204, type: '', body: '', headers };
  throw new Problem(405, `${method} is not possible here. Possible: ${allow}.`, { headers });
}

function traceOf(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, tracestate: typeof tracestate === 'string' ? tracestate : undefined };
}

function serverOf(tls: TlsFiles | undefined, options: ServerOptions) {
  if (tls === undefined) return createServer(options);
  const { cert, key, ca } = tls;
  const clients = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  return createTlsServer({ ...options, cert, key, ...clients, minVersion: 'TLSv1.2' });
}
