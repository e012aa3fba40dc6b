/** The section `gateway`: where it listens, what it knows of a request, and what it allows. Its parts with names are in files of their own. */
import { admissionSchema } from './admission-schema.ts';
import { routeSchema } from './route-schema.ts';
import {
  address,
  bytes,
  choice,
  duration,
  flag,
  mapOf,
  openAddress,
  path,
  type SettingSchema,
  section,
  text,
  wholeNumber,
} from './schema-kinds.ts';
import { readableSource } from './source-schema.ts';
import { tlsSchema } from './tls-schema.ts';
import { upstreamSchema } from './upstream-schema.ts';

const limits = section(
  { description: 'What clients may ask of the gateway, so that none takes it from the others.' },
  {
    headBytes: bytes({ description: 'The largest head of a request, first line and headers.', default: '16kb' }),
    headers: wholeNumber({ from: 1, to: 10_000 }, { description: 'The most headers of a request.', default: 100 }),
    bodyBytes: bytes({ description: 'The largest body of a request.', default: '10mb' }),
    connections: wholeNumber({ from: 1 }, { description: 'Connections of clients open at once.', default: 10_000 }),
    streams: wholeNumber(
      { from: 1, to: 2 ** 31 - 1 },
      { description: 'Requests under way at once on one HTTP/2 connection.', default: 100 },
    ),
    head: duration({ description: 'A head must be there whole within this.', default: '10s' }),
    idle: duration({
      description: 'A connection ends after this without a request, and a request without a byte.',
      default: '60s',
    }),
  },
);

export const gatewaySchema: SettingSchema = {
  ...section(
    {
      description:
        'The reverse proxy of `sluice gateway`. One upstream is enough: without `routes` every request goes to it, through the only admission if there is one.',
    },
    {
      listen: openAddress({ description: 'Where clients come.', default: 8000 }),
      admin: address({
        description: 'Metrics, health, readiness and reload. Nobody but this machine reaches it unless told otherwise.',
        default: '127.0.0.1:8001',
      }),
      tls: tlsSchema('TLS to clients. Without it they speak plain HTTP.'),
      http2: flag({
        description: 'HTTP/2 for clients that ask for it: by ALPN, or by prior knowledge where there is no TLS.',
        default: true,
      }),
      trustProxy: {
        type: ['integer', 'string', 'array'],
        description:
          "Whose word about the client's address is taken: so many proxies before this one, or those of these addresses and networks, `loopback` and `private` among them. 0: nobody's.",
        default: 0,
        examples: [1, ['10.0.0.0/8'], 'private'],
        minimum: 0,
        maximum: 32,
        minLength: 1,
        minItems: 1,
        items: text({ description: 'An address or a network.' }),
        errorMessage: 'must be a number of proxies from 0 to 32, a network such as 10.0.0.0/8, or a list of networks',
      },
      identify: mapOf(
        {
          description:
            'Where the fields of the subject come from that rules and admissions are about, beside `ip`, `method`, `path`, `host` and `route`. A request that does not have one is not limited by its rules.',
          examples: [{ user: 'header:x-user', session: 'cookie:sid', tier: 'query:plan' }],
          default: {},
        },
        readableSource({ description: 'Where the field comes from.' }),
        'of fields and where they come from, such as { user: header:x-user }',
      ),
      limits,
      accessLog: section(
        { description: 'A line for each request. None unless given.' },
        {
          path: path({ description: 'The file. Its folder must exist. `-` is standard output.' }),
          format: choice(['combined', 'json'], {
            description: "`combined`: as Apache and nginx write it. `json`: with the gateway's own times and names.",
            default: 'combined',
          }),
        },
        ['path'],
      ),
      admissions: mapOf(
        { description: 'How many requests are under way at once, and who goes next, by name.', default: {} },
        admissionSchema,
        'of admissions by name, such as { main: { concurrency: 100 } }',
      ),
      routes: {
        type: 'array',
        description: 'Where requests go: the first that matches is taken; what none matches is answered with 404.',
        default: [],
        items: routeSchema,
        errorMessage: 'must be a list of routes',
      },
      upstreams: {
        ...mapOf(
          { description: 'What stands behind the gateway, by name.' },
          upstreamSchema,
          'of upstreams by name, such as { api: { members: [127.0.0.1:9001] } }',
        ),
        minProperties: 1,
      },
    },
    ['upstreams'],
  ),
};
