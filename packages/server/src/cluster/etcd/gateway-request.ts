/**
 * One question to the JSON gateway of one member. It is sent once, whatever happens: a failure says whether it may have arrived.
 *
 * By `node:http` and `node:https`, because Node's own fetch takes neither an authority nor a client's certificate, and does not say
 * whether a request had left when it failed.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { createSecureContext } from 'node:tls';
import { SluiceError } from 'sluice';

/** PEM texts. */
export interface EtcdTls {
  /** Who signed the members' certificates. Default: whom Node trusts. */
  readonly ca?: string | undefined;
  /** The certificate that this client shows, with its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface Question {
  readonly endpoint: string;
  readonly path: string;
  readonly body: object;
  readonly token?: string | undefined;
  /** Ends it, with its reason as what is said. */
  readonly signal: AbortSignal;
}

export interface Gateway {
  /** The answer's JSON. Rejects with a `GatewayFailure`. */
  ask(question: Question): Promise<unknown>;
  close(): void;
}

export interface FailureKind {
  /** Nothing has left this machine, or what has was turned away: it did not happen, and never will. */
  readonly isUndone: boolean;
  /** The code of gRPC when etcd itself said no. */
  readonly code?: number | undefined;
  readonly cause?: unknown;
}

export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly isUndone: boolean;
  readonly code: number | undefined;

  constructor(message: string, { isUndone, code, cause }: FailureKind) {
    super(message, { cause });
    this.isUndone = isUndone;
    this.code = code;
  }

  /** The member is well and does not want this: another would say the same. */
  get isRefusal(): boolean {
    return this.code !== undefined && refusals.includes(this.code);
  }
}

/** Of gRPC: invalid argument, permission denied, failed precondition, unauthenticated. etcd says them before it does anything. */
const refusals: readonly number[] = [3, 7, 9, 16];

/** Requests at once to one member; others wait for their turn, no longer than they have time. */
const mostConnections = 64;

/** No answer that is meant for this client is nearly as long. */
const mostAnswerBytes = 64 * 1024 * 1024;

/** Throws `invalid-option` for certificates that cannot be read. */
export function gateway(tls: EtcdTls = {}): Gateway {
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw new SluiceError('invalid-option', `tls must be PEM texts that fit: ${(cause as Error).message}.`, { cause });
  }
  const settings = { keepAlive: true, maxSockets: mostConnections };
  const plain = new HttpAgent(settings);
  const secure = new HttpsAgent({ ...settings, ...tls });
  return {
    ask: (question) => ask(question, plain, secure),
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

function ask(question: Question, plain: HttpAgent, secure: HttpsAgent): Promise<unknown> {
  const { endpoint, path, body, token, signal } = question;
  const text = JSON.stringify(body);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(token === undefined ? {} : { authorization: token }),
  };
  const options = { method: 'POST', headers };
  return new Promise((resolve, reject) => {
    const url = endpoint + path;
    const asked = endpoint.startsWith('https:')
      ? requestHttps(url, { ...options, agent: secure })
      : requestHttp(url, { ...options, agent: plain });
    // While the connection is being made nothing of the question has left. A handshake of TLS counts as made: it is not for us to say
    // when its first byte left.
    let isConnected = false;
    asked.once('socket', (socket) => {
      if (!socket.connecting) isConnected = true;
      else socket.once('connect', () => (isConnected = true));
    });
    const end = () => asked.destroy(signal.reason);
    const fail = (cause: unknown) => {
      signal.removeEventListener('abort', end);
      const why = signal.aborted ? signal.reason : cause;
      reject(why instanceof GatewayFailure ? why : failureOf(why, !isConnected));
    };
    asked.on('error', fail);
    asked.once('response', (response) => {
      readAll(response)
        .then((answered) => {
          signal.removeEventListener('abort', end);
          resolve(answerOf(response.statusCode, answered));
        })
        .catch(fail);
    });
    if (signal.aborted) return end();
    signal.addEventListener('abort', end, { once: true });
    asked.end(text);
  });
}

async function readAll(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > mostAnswerBytes) throw new Error(`its answer is longer than ${mostAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function answerOf(status: number | undefined, text: string): unknown {
  let answer: { readonly code?: unknown; readonly message?: unknown; readonly error?: unknown } | null | undefined;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw new GatewayFailure(`its answer ${status} is no JSON: ${text.slice(0, 100)}`, { isUndone: false, cause });
  }
  if (status === 200 && typeof answer === 'object' && answer !== null) return answer;
  const code = typeof answer?.code === 'number' ? answer.code : undefined;
  const isUndone = code !== undefined && refusals.includes(code);
  throw new GatewayFailure(String(answer?.message ?? answer?.error ?? `status ${status}`), { isUndone, code });
}

function failureOf(cause: unknown, isUndone: boolean): GatewayFailure {
  const { message, code, reason } = cause as NodeJS.ErrnoException & { readonly reason?: string };
  // OpenSSL's own words name a line of its source, and not what is wrong.
  if (/wrong version number|packet length too long/.test(message))
    return new GatewayFailure('there is no TLS: an address for it begins with http:', { isUndone, cause });
  // An attempt over several addresses has a code and no text.
  const isOfTls = code === 'EPROTO' || code?.startsWith('ERR_SSL_');
  return new GatewayFailure((isOfTls && reason) || message || String(code ?? cause), { isUndone, cause });
}
