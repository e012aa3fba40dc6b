// The document against the implementation: every operation is performed with its own examples, and every response has to be promised.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answered, documentedApi } from './documented.test-support.ts';
import { type Json, type Opened, open } from './http-door.test-support.ts';
import { watch } from './live.test-support.ts';
import { routesOf } from './routes.ts';

let opened: Opened;
let document: Json;
beforeAll(async () => {
  opened = await open();
  document = (await opened.ask('GET', '/openapi.json')).json;
});
afterAll(() => opened.close());

interface Operation {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly hasBody: boolean;
}

/** Every operation, once for each of its examples, with the examples of its parameters in the path. */
function operations(from: Json): Operation[] {
  return Object.entries<Json>(from.paths).flatMap(([template, methods]) =>
    Object.entries<Json>(methods).flatMap(([verb, { operationId, parameters = [], requestBody }]) => {
      let path = template;
      for (const { name, in: place, example } of parameters) {
        if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(example));
        else path += `?${name}=${encodeURIComponent(example)}`;
      }
      const examples = Object.entries<Json>(requestBody?.content['application/json'].examples ?? { none: {} });
      return examples.map(([name, { value }]) => ({
        title: `${operationId} (${name})`,
        method: verb.toUpperCase(),
        path,
        body: value,
        hasBody: requestBody !== undefined,
      }));
    }),
  );
}

/** Of what does not end by itself. */
async function firstEvent(port: number): Promise<Answered> {
  const watcher = await watch(port);
  const { data } = await watcher.next();
  watcher.leave();
  const { status, headers } = watcher.response;
  return { status, headers, type: headers.get('content-type') ?? '', text: data, json: undefined };
}

describe('the OpenAPI document', () => {
  it('is served as OpenAPI 3.1, and has every route there is', () => {
    expect(document.openapi).toBe('3.1.0');
    const listed = operations(document).map(({ title }) => title.split(' ')[0]);
    expect(new Set(listed)).toEqual(new Set(routesOf('everything').map(({ operation }) => operation.operationId)));
    expect(Object.keys(document.paths)).toEqual([
      '/v1/check',
      '/v1/check/batch',
      '/json',
      '/v1/rules',
      '/v1/overrides',
      '/v1/overrides/{rule}/{key}',
      '/v1/overrides/{rule}',
      '/v1/keys/{rule}/{key}',
      '/v1/keys/{rule}',
      '/v1/refused',
      '/v1/reload',
      '/v1/status',
      '/v1/live',
      '/metrics',
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/',
    ]);
  });

  it('has schemas that are schemas, and references that lead somewhere', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, kind = '', name = ''] of references) expect(document.components[kind]).toHaveProperty([name]);
    expect(() => documentedApi(document)).not.toThrow();
  });

  it('keeps what it says: each operation with its examples is answered with success, as promised', async () => {
    const api = documentedApi(document);
    const performed: string[] = [];
    for (const { title, method, path, body, hasBody } of operations(document)) {
      if (hasBody) expect(api.requestProblems(method, path, body), title).toEqual([]);
      const response =
        path === '/v1/live'
          ? await firstEvent(opened.port)
          : await opened.ask(method, path, hasBody ? body : undefined);
      expect(api.problems(method, path, response), title).toEqual([]);
      expect(response.status, `${title}: ${response.text}`).toBeLessThan(300);
      performed.push(title);
    }
    expect(performed.length).toBe(operations(document).length);
  });

  it('describes only what a door has', async () => {
    for (const [serves, has, lacks] of [
      ['checks', '/json', '/v1/rules'],
      ['administration', '/v1/rules', '/json'],
    ] as const) {
      const other = await open({ serves });
      const { paths } = (await other.ask('GET', '/openapi.json')).json;
      expect(paths).toHaveProperty([has]);
      expect(paths).not.toHaveProperty([lacks]);
      for (const path of ['/v1/check', '/v1/check/batch', '/healthz']) expect(paths).toHaveProperty([path]);
      await other.close();
    }
  });

  it('notices a response that it does not promise', async () => {
    const api = documentedApi(document);
    const response = await opened.ask('GET', '/healthz');
    expect(api.problems('GET', '/healthz', { ...response, status: 418 })).toEqual([
      'GET /healthz answered 418, which is not in the document',
    ]);
    expect(api.problems('GET', '/healthz', { ...response, json: { status: 'dead' } })[0]).toContain(
      'must be equal to constant',
    );
    expect(api.problems('GET', '/healthz', { ...response, type: 'text/html' })[0]).toContain('is text/html');
    expect(api.problems('GET', '/elsewhere', response)).toEqual(['GET /elsewhere is not in the document']);
  });
});
