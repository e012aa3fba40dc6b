/** An upstream: members, how one of them is chosen, how it is known whether they are well, and how they are called. */
import { balancers } from 'sluice/balance';
import {
  bytes,
  choice,
  duration,
  durationOrZero,
  number,
  type SettingSchema,
  section,
  switchedSection,
  text,
  wholeNumber,
} from './schema-kinds.ts';
import { source } from './source-schema.ts';

const memberPattern = '^(http://)?(\\[[0-9a-fA-F:.]+\\]|[\\w.-]+):\\d{1,5}/?$';

const memberFields: Readonly<Record<string, SettingSchema>> = {
  address: {
    ...text({ description: 'Where it is: `host:port`, or `http://host:port`.', examples: ['127.0.0.1:9001'] }),
    pattern: memberPattern,
    errorMessage: 'must be an address such as 127.0.0.1:9001 or http://api.internal:9001',
  },
  weight: number(
    { above: 0, to: 1_000_000 },
    { description: 'How much of the load it takes beside the others.', default: 1 },
  ),
};

export const memberSchema: SettingSchema = {
  ...section({ description: 'A member: its address, or that and its weight.' }, memberFields, ['address']),
  type: ['string', 'object'],
  pattern: memberPattern,
  errorMessage: 'must be an address such as 127.0.0.1:9001 or http://api.internal:9001, or a map of address, weight',
};

const urlPath: Omit<SettingSchema, 'description'> = {
  type: 'string',
  pattern: '^/[^\\s#]*$',
  errorMessage: 'must be a path such as /healthz',
};

export const healthSchema = section(
  { description: 'Asks each member whether it is well. Nobody is asked unless given.' },
  {
    path: { ...urlPath, description: 'What is asked for, with GET.', examples: ['/healthz'] },
    interval: duration({ description: 'How often.', default: '5s' }),
    timeout: duration({ description: 'No answer within this is a bad one.', default: '1s' }),
    unhealthyAfter: wholeNumber(
      { from: 1, to: 1000 },
      { description: 'So many bad answers in a row, and it gets no requests.', default: 3 },
    ),
    healthyAfter: wholeNumber(
      { from: 1, to: 1000 },
      { description: 'So many good answers in a row, and it gets them again.', default: 2 },
    ),
    status: {
      type: ['integer', 'string'],
      description: 'What a good answer is: a status, or from one to another.',
      default: '200-399',
      minimum: 100,
      maximum: 599,
      pattern: '^[1-5]\\d\\d(-[1-5]\\d\\d)?$',
      errorMessage: 'must be a status such as 200, or a range such as 200-399',
    },
  },
  ['path'],
);

export const outliersSchema = switchedSection(
  { description: 'Takes a member out for a while whose answers fail. On unless `false`.', default: true },
  {
    consecutiveFailures: wholeNumber(
      { from: 1, to: 1_000_000 },
      { description: 'So many failures in a row take it out: no connection, no answer, a 5xx.', default: 5 },
    ),
    ejection: duration({ description: 'For how long, the first time; longer each time after.', default: '30s' }),
    longestEjection: duration({ description: 'For how long at most.', default: '5m' }),
    mostEjectedShare: number(
      { above: 0, to: 1 },
      { description: 'At most this share of the members is out at once.', default: 0.5 },
    ),
  },
);

export const breakerSchema = switchedSection(
  {
    description:
      'Stops asking a member whose failures are too large a share of its answers. Off unless given or `true`.',
    default: false,
  },
  {
    failureRatio: number({ above: 0, to: 1 }, { description: 'This share of failures opens it.', default: 0.5 }),
    minimumCalls: wholeNumber(
      { from: 1, to: 1_000_000 },
      { description: 'Fewer calls than this in a window say nothing.', default: 20 },
    ),
    window: duration({ description: 'The time over which calls are counted.', default: '10s' }),
    open: duration({ description: 'How long nobody asks it.', default: '5s' }),
    halfOpenCalls: wholeNumber(
      { from: 1, to: 1000 },
      { description: 'So many calls then find out whether it is well again.', default: 3 },
    ),
  },
);

const timeouts = section(
  { description: 'How long a member may take.' },
  {
    connect: duration({ description: 'Until it takes the connection.', default: '1s' }),
    response: duration({ description: 'Until the head of its answer is there.', default: '30s' }),
    idle: duration({ description: 'Between bytes of a request or an answer.', default: '60s' }),
  },
);

const retries = section(
  { description: 'Another member is asked where one failed and the request can be repeated.' },
  {
    attempts: wholeNumber(
      { from: 0, to: 10 },
      { description: 'So often beyond the first time. 0: never.', default: 1 },
    ),
    on: {
      type: 'array',
      description: 'Statuses of answers that are thrown away for another try, beside failures without an answer.',
      default: [502, 503, 504],
      items: wholeNumber({ from: 400, to: 599 }, { description: 'A status.' }),
      errorMessage: 'must be a list of statuses, such as [502, 503, 504]',
    },
    budget: number({ from: 0, to: 1 }, { description: 'Retries as a share of the requests, at most.', default: 0.2 }),
    bodyBytes: bytes({
      description:
        'A body of at most so many bytes is kept to be sent again; a request with a larger one is not retried.',
      default: '64kb',
    }),
  },
);

export const upstreamSchema: SettingSchema = {
  ...section(
    { description: 'Members that do the same, and how one of them is chosen.' },
    {
      members: {
        type: 'array',
        description: 'Where it is. A member is spoken to in HTTP/1.1.',
        examples: [['127.0.0.1:9001', { address: '127.0.0.1:9002', weight: 3 }]],
        minItems: 1,
        items: memberSchema,
        errorMessage: 'must be a list of addresses, such as [127.0.0.1:9001]',
      },
      balancer: choice(Object.keys(balancers), { description: 'How one of them is chosen.', default: 'two-choices' }),
      stickyBy: source({
        description: "`hash-ring`: what keeps a client at its member. The client's address unless given.",
      }),
      health: healthSchema,
      outliers: outliersSchema,
      breaker: breakerSchema,
      slowStart: durationOrZero({
        description: 'A member that is back gets its whole share only after this. 0: at once.',
        default: 0,
      }),
      timeouts,
      retries,
      connections: wholeNumber(
        { from: 1, to: 65_535 },
        { description: 'Connections to one member, at most.', default: 256 },
      ),
      host: choice(['client', 'member'], {
        description: 'Whether `Host` is what the client asked for, or the address of the member.',
        default: 'client',
      }),
    },
    ['members'],
  ),
  errorMessage: 'must be a map such as { members: [127.0.0.1:9001] }',
};
