// Whether a response is one that the OpenAPI document promises: its status, its content type, its body and its headers.
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json } from './http-door.test-support.ts';

export interface Answered {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly json: Json;
  readonly headers: Headers;
}

export interface DocumentedApi {
  /** What is wrong; empty when the response is as promised. */
  problems(method: string, path: string, response: Answered): string[];
  /** Whether a request's body is as the document wants it. */
  requestProblems(method: string, path: string, body: unknown): string[];
}

export function documentedApi(document: Json): DocumentedApi {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema({ $id: 'api', ...document });
  const templates = Object.keys(document.paths);

  function operationAt(method: string, path: string): { operation: Json; pointer: string } | undefined {
    const [bare = ''] = path.split('?');
    const template =
      templates.find((one) => one === bare) ??
      templates.find((one) => new RegExp(`^${one.replace(/\{\w+\}/g, '[^/]+')}$`).test(bare));
    const verb = method.toLowerCase();
    const operation = template && document.paths[template][verb];
    return operation && { operation, pointer: `api#/paths/${escaped(template)}/${verb}` };
  }

  function invalid(pointer: string, value: unknown): string[] {
    const validate = ajv.getSchema(pointer);
    if (!validate) return [`the document has no schema at ${pointer}`];
    return validate(value) ? [] : [`${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`];
  }

  return {
    requestProblems(method, path, body) {
      const found = operationAt(method, path);
      return found
        ? invalid(`${found.pointer}/requestBody/content/application~1json/schema`, body)
        : ['no such operation'];
    },
    problems(method, path, { status, type, text, json, headers }) {
      const found = operationAt(method, path);
      if (!found) return [`${method} ${path} is not in the document`];
      const promised = found.operation.responses[status];
      if (!promised) return [`${method} ${path} answered ${status}, which is not in the document`];
      const missing = Object.keys(promised.headers ?? {}).flatMap((name) => headerProblems(name, headers.get(name)));
      if (!promised.content) return text === '' ? missing : [`${status} has a body, and should have none`];
      const content = promised.content[type];
      if (!content) return [`${status} is ${type}, not ${Object.keys(promised.content)}`];
      const pointer = `${found.pointer}/responses/${status}/content/${escaped(type)}/schema`;
      return [...missing, ...invalid(pointer, type.includes('json') ? json : text)];
    },
  };

  function headerProblems(name: string, value: string | null): string[] {
    const { schema } = document.components.headers[name];
    return value === null || ajv.validate(schema, value) ? [] : [`${name} is ${value}`];
  }
}

function escaped(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
}
