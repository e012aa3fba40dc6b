/** The OpenAPI 3.1 document, made of the route table. */
import { version } from '../version.ts';
import { problemType } from './reply.ts';
import type { Operation, ResponseDescription, Route } from './route.ts';
import { ref, schemas } from './schemas.ts';

const problem = (description: string): ResponseDescription => ({
  description,
  type: problemType,
  schema: ref('Problem'),
});

// What can happen to any request with a body, on top of what its route says.
const withBody: Readonly<Record<number, ResponseDescription>> = {
  408: problem('The request did not arrive in time.'),
  413: problem('The body is longer than is read.'),
  415: problem('The body is not JSON by its content type.'),
  417: problem('The Expect header is not 100-continue.'),
};

const always: Readonly<Record<number, ResponseDescription>> = {
  400: problem('Something is wrong with the request; the detail names the field, the value and the way out.'),
  403: problem('A page of another site made the browser ask.'),
  431: problem('The headers are longer than is read.'),
  500: problem('A fault of the service. It is in its log.'),
  503: problem('The store does not answer, or the service is overloaded.'),
};

const unauthorized = problem('A token is needed: Authorization: Bearer <token>.');

export function openApiDocument(routes: readonly Route[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      summary: 'A rate-limit service.',
      description: 'Errors are problem details (RFC 9457). The service counts by its own time.',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    // A token is needed only where the service was given some.
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas,
      headers: rateLimitHeaders,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operationOf({ operation, isOpen, body }: Route): Record<string, unknown> {
  const { operationId, summary, tag, parameters, request } = operation;
  const described = {
    ...always,
    ...(!isOpen && { 401: unauthorized }),
    ...(body && withBody),
    ...operation.responses,
  };
  return {
    operationId,
    summary,
    tags: [tag],
    ...(isOpen && { security: [] }),
    ...(parameters && { parameters: parametersOf(parameters) }),
    ...(request && { requestBody: requestBodyOf(request) }),
    responses: Object.fromEntries(
      Object.entries(described).map(([status, response]) => [status, responseOf(response)]),
    ),
  };
}

function parametersOf(parameters: NonNullable<Operation['parameters']>) {
  return Object.entries(parameters).map(([name, { in: place, isRequired, description, schema, example }]) => {
    return { name, in: place, required: place === 'path' || isRequired === true, description, schema, example };
  });
}

function requestBodyOf({ schema, examples }: NonNullable<Operation['request']>) {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { required: true, content: { 'application/json': { schema, examples: Object.fromEntries(named) } } };
}

function responseOf({ description, type, schema, browserType, hasRateLimitHeaders }: ResponseDescription) {
  return {
    description,
    ...(hasRateLimitHeaders && { headers: headerReferences }),
    ...(type && { content: { [type]: { schema }, ...(browserType && { [browserType]: { schema } }) } }),
  };
}

const integer = { type: 'string', pattern: '^\\d+$' } as const;
const text = { type: 'string' } as const;

const rateLimitHeaders = {
  'X-RateLimit-Limit': { description: 'The most of the tightest limit.', schema: integer },
  'X-RateLimit-Remaining': { description: 'What is left of it.', schema: integer },
  'X-RateLimit-Reset': { description: 'When it is as good as new, in epoch seconds.', schema: integer },
  'RateLimit-Policy': { description: 'Every limit that applied: "name";q=quota;w=seconds.', schema: text },
  RateLimit: { description: 'The tightest: "name";r=remaining;t=seconds.', schema: text },
  'Retry-After': { description: 'Whole seconds; only on a refusal, when waiting helps.', schema: integer },
} as const;

const headerReferences = Object.fromEntries(
  Object.keys(rateLimitHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);
