import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP's JSON has it. */
export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  status: { code: number; message?: string };
  attributes: { key: string; value: Record<string, unknown> }[];
}

/** What a collector does: takes OTLP over HTTP. */
export class Collector {
  readonly spans: Span[] = [];
  readonly services: unknown[] = [];
  readonly #server: Server;
  status = 200;
  requests = 0;

  constructor() {
    this.#server = createServer(async (request, response) => {
      this.requests += 1;
      const body = await bodyOf(request);
      if (request.method !== 'POST' || request.headers['content-type'] !== 'application/json')
        response.statusCode = 415;
      else if (this.status !== 200) response.statusCode = this.status;
      else this.#take(JSON.parse(body));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #take(message: { resourceSpans: { resource: { attributes: unknown[] }; scopeSpans: { spans: Span[] }[] }[] }): void {
    for (const { resource, scopeSpans } of message.resourceSpans) {
      this.services.push(...resource.attributes);
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
