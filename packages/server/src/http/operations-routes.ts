/** For those who run the service: health, readiness, metrics. */
import { andThen } from '../service/answer.ts';
import { Problem } from './problem.ts';
import { jsonReply, jsonType, problemType, textReply } from './reply.ts';
import type { Route } from './route.ts';
import { ref } from './schemas.ts';

// Prometheus' text format, as scrapers expect it to be called.
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

export const metrics: Route = {
  method: 'GET',
  path: '/metrics',
  area: 'administration',
  operation: {
    operationId: 'metrics',
    summary: "The service's numbers for Prometheus.",
    tag: 'operations',
    responses: { 200: { description: 'Text.', type: metricsType, schema: { type: 'string' } } },
  },
  answer: ({ service }) => andThen(service.metrics(), (text) => textReply(text, metricsType)),
};

export const health: Route = {
  method: 'GET',
  path: '/healthz',
  area: 'both',
  isOpen: true,
  operation: {
    operationId: 'health',
    summary: 'Whether the process lives. It says nothing about the store.',
    tag: 'operations',
    responses: { 200: { description: 'It lives.', type: jsonType, schema: ref('Health') } },
  },
  answer: () => jsonReply({ status: 'ok' }),
};

export const readiness: Route = {
  method: 'GET',
  path: '/readyz',
  area: 'both',
  isOpen: true,
  operation: {
    operationId: 'readiness',
    summary: 'Whether to send requests here: the store answers, and the service is not ending.',
    tag: 'operations',
    responses: {
      200: { description: 'Ready.', type: jsonType, schema: ref('Health') },
      503: { description: 'Not ready; the detail says why.', type: problemType, schema: ref('Problem') },
    },
  },
  answer: ({ service }) =>
    andThen(service.readiness(), ({ isReady, reason }) => {
      if (isReady) return jsonReply({ status: 'ok' });
      throw new Problem(503, `Not ready: ${reason ?? 'no reason was given'}.`);
    }),
};
