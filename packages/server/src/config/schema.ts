/**
 * The configuration file as JSON Schema (draft 7, which editors understand best): every setting with what it is for and its
 * default. This is the one place where defaults stand; the reading of a file, the names of environment variables and
 * docs/reference/configuration.md all come from here. `sluice.schema.json`, which is published beside `dist`, is this object.
 */
import { gatewaySchema } from './gateway-schema.ts';
import { matches, ruleSchema } from './rule-schema.ts';
import {
  address,
  bytes,
  choice,
  duration,
  durationOrZero,
  flag,
  number,
  path,
  type SettingSchema,
  section,
  text,
  token,
  wholeNumber,
} from './schema-kinds.ts';
import { storeSchema } from './store-schema.ts';
import { tlsSchema } from './tls-schema.ts';

const listen = section(
  { description: 'Where the doors are. Only this machine can reach them unless a `host` says otherwise.' },
  {
    host: text({
      description: 'The address of every door that does not name its own. `0.0.0.0` or `::` is every interface.',
      default: '127.0.0.1',
    }),
    http: address({
      description: 'HTTP/JSON: checks, metrics, health; rules and keys too, unless `admin` is given.',
      default: 8080,
    }),
    grpc: address({ description: 'gRPC: the rate limit service of Envoy, and health.', default: 8081 }),
    resp: address({
      description: 'The Redis protocol: `CL.THROTTLE`, `SLUICE.CHECK`, `SLUICE.POLICY`.',
      default: 6380,
    }),
    admin: address({
      description: 'A second HTTP door: rules, overrides, keys, reload and metrics move there.',
      default: false,
    }),
  },
);

const security = section(
  { description: 'Who may ask. Without a token and without `tls.clientAuthority`: everyone who reaches a door.' },
  {
    token: token({ description: 'Opens every door: HTTP bearer, RESP `AUTH`, gRPC metadata.' }),
    tokens: {
      type: 'array',
      description: 'More tokens, each as good as `token`: the old and the new one while you change them.',
      items: token({ description: 'A token.' }),
      writeOnly: true,
      errorMessage: 'must be a list of texts',
    },
    tokenFile: path({
      description: 'A file with a token per line, read when the service starts and whenever it changes.',
      examples: ['/run/secrets/sluice-tokens'],
    }),
    tls: tlsSchema('TLS on every door.'),
  },
);

const limits = section(
  { description: 'What clients may ask of the service, so that none takes it from the others.' },
  {
    bodyBytes: bytes({ description: 'The largest request.', default: '1mb' }),
    keyBytes: bytes({ description: 'The longest key.', default: '1kb' }),
    batchItems: wholeNumber({ from: 1 }, { description: 'The most items of a batch.', default: 1000 }),
    connections: wholeNumber(
      { from: 1 },
      {
        description:
          'Connections open at once, of each door. With several `workers` each thread takes an equal share of them, and who takes a connection the kernel decides: a thread whose share is used up refuses while others still have room.',
        default: 20_000,
      },
    ),
    pipelineDepth: wholeNumber(
      { from: 1 },
      { description: 'Commands of one connection that are being answered at once.', default: 10_000 },
    ),
    idle: durationOrZero({
      description: 'A connection on which nothing happens ends after this. 0: never.',
      default: '5m',
    }),
    request: duration({ description: 'A request that has begun must be there whole within this.', default: '30s' }),
  },
);

const properties = {
  rules: {
    type: 'array',
    description:
      'The limits. A request passes only if every rule that applies to it passes; when one refuses, none is charged.',
    default: [],
    items: ruleSchema,
    errorMessage: 'must be a list of rules',
  },
  allow: matches('Subjects that always pass and are not charged. It wins over `deny`.'),
  deny: matches('Subjects that never pass.'),
  ipv6Subnet: wholeNumber(
    { from: 32, to: 128 },
    {
      description: 'Bits of an IPv6 address that count in a key of field `ip`: one customer has a whole network.',
      default: 56,
    },
  ),
  store: storeSchema,
  listen,
  security,
  limits,
  workers: {
    type: ['integer', 'string'],
    description: 'Threads that speak with clients. 1: everything in one thread. `auto`: one for each core.',
    default: 'auto',
    minimum: 1,
    maximum: 1024,
    pattern: '^auto$',
    errorMessage: 'must be a whole number from 1 to 1024, or auto',
  },
  snapshot: section(
    { description: 'Where the counts of the memory store are kept between runs. Nowhere unless given.' },
    {
      path: path({ description: 'The file. Its folder must exist.' }),
      every: durationOrZero({
        description: 'Also while running, so often. 0: only when the service ends.',
        default: 0,
      }),
    },
    ['path'],
  ),
  envoy: section(
    { description: 'Limits in the files of `envoyproxy/ratelimit`, for the gRPC door.' },
    {
      directory: path({ description: 'The folder with the YAML files.' }),
      mergeDomains: flag({ description: 'Files may share a domain.', default: false }),
      responseHeaders: flag({
        description:
          'Tells Envoy to add `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` to its response.',
        default: false,
      }),
    },
    ['directory'],
  ),
  logs: section(
    { description: 'What the service says about itself, as lines of JSON.' },
    {
      level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
        description: 'The least important lines that are written.',
        default: 'info',
      }),
    },
  ),
  tracing: section(
    { description: 'OpenTelemetry traces. None unless given.' },
    {
      endpoint: {
        ...text({
          description:
            'Where traces are sent, by OTLP over HTTP: the whole address with its path. Without a path it is `/v1/traces`.',
          examples: ['http://127.0.0.1:4318/v1/traces'],
        }),
        pattern: '^https?://',
        errorMessage: 'must be an address that begins with http:// or https://',
      },
      sampleRatio: number({ from: 0, to: 1 }, { description: 'The share of requests that are traced.', default: 0.01 }),
      serviceName: text({ description: 'What the service is called in traces.', default: 'sluice' }),
    },
    ['endpoint'],
  ),
  drain: durationOrZero({
    description: 'How long open requests may take to finish when the service is told to end.',
    default: '10s',
  }),
  studio: flag({
    description:
      'The studio, a page at `/` of the door that has the administration. It shows only what can be asked there.',
    default: true,
  }),
  gateway: gatewaySchema,
} satisfies Readonly<Record<string, SettingSchema>>;

/** The whole file. */
export const configSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Sluice',
  ...section({ description: 'The configuration of a Sluice service.' }, properties),
} as const;
