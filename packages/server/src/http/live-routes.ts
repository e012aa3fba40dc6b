/** For those who watch: everything there is to see at this moment, once or every second. */
import { andThen } from '../service/answer.ts';
import { eventStreamType } from './live-streams.ts';
import { jsonReply, jsonType } from './reply.ts';
import type { Route } from './route.ts';
import { ref } from './schemas.ts';

export const status: Route = {
  method: 'GET',
  path: '/v1/status',
  area: 'administration',
  operation: {
    operationId: 'status',
    summary: 'Rules, durations, refused keys, store, cluster and upstreams at this moment.',
    tag: 'operations',
    responses: { 200: { description: 'Counts since the start.', type: jsonType, schema: ref('Status') } },
  },
  answer: ({ service }) => andThen(service.status(), (snapshot) => jsonReply(snapshot)),
};

export const live: Route = {
  method: 'GET',
  path: '/v1/live',
  area: 'administration',
  operation: {
    operationId: 'live',
    summary: 'The same every second, as server-sent events.',
    tag: 'operations',
    responses: {
      200: {
        description: 'Events named `snapshot`; the data of each is a `Status`. A slow reader is not sent all of them.',
        type: eventStreamType,
        schema: { type: 'string' },
      },
    },
  },
  answer: ({ watch }) => watch(),
};
