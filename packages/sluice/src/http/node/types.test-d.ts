/** Types flow from Node: this file only has to compile. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { gcra } from '../../algorithms/gcra/gcra.ts';
import type { RulesResult } from '../../limit/rules.ts';
import { type Refused, rateLimit } from './index.ts';

type IsSame<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
declare function same<A, B>(is: IsSame<A, B>): void;

const policy = gcra({ limit: 100, window: '1m' });

const limit = rateLimit({
  policy: (request) => {
    same<typeof request, IncomingMessage>(true);
    return policy;
  },
  key: (request) => {
    same<typeof request, IncomingMessage>(true);
    return request.headers['x-api-key']?.toString();
  },
  costAfter(request, { response }) {
    same<[typeof request, typeof response], [IncomingMessage, ServerResponse]>(true);
    return 1;
  },
  handler(request, response, refused) {
    same<[typeof request, typeof response, typeof refused], [IncomingMessage, ServerResponse, Refused]>(true);
    response.writeHead(refused.status).end();
  },
  onResult: (request, result) => same<[typeof request, typeof result], [IncomingMessage, RulesResult]>(true),
});
createServer((request, response) => limit(request, response, () => response.end()));

const over2 = rateLimit<Http2ServerRequest, Http2ServerResponse>({
  policy,
  key: (request) => request.authority,
  costAfter: (_request, { response }) => response.stream.id ?? 1,
});
createHttp2Server((request, response) => over2(request, response, () => response.end()));

// @ts-expect-error Nothing says what is limited.
rateLimit({});
// @ts-expect-error One policy, or rules.
rateLimit({ policy, rules: [] });
// @ts-expect-error There is no such option.
rateLimit({ policy, address: () => '127.0.0.1' });
// @ts-expect-error Node has no such field.
rateLimit({ policy, key: (request) => request.ip });
