/** All routes, in the order in which they are shown. */
import {
  deleteOverride,
  inspectKey,
  listOverrides,
  listRules,
  putOverride,
  reload,
  resetKey,
  topRefused,
} from './administration-routes.ts';
import { check, checkBatch, envoyJson } from './check-routes.ts';
import { frontPage } from './front-page.ts';
import { openApiDocument } from './openapi.ts';
import { health, metrics, readiness } from './operations-routes.ts';
import { jsonReply, jsonType, plainType, textReply } from './reply.ts';
import type { Route } from './route.ts';

/** What a door is for. */
export type Serves = 'checks' | 'administration' | 'everything';

export const everyRoute: readonly Route[] = [
  check,
  checkBatch,
  envoyJson,
  listRules,
  listOverrides,
  putOverride,
  deleteOverride,
  inspectKey,
  resetKey,
  topRefused,
  reload,
  metrics,
  health,
  readiness,
];

/** The routes of a door, with those that describe them. */
export function routesOf(serves: Serves): readonly Route[] {
  const own = everyRoute.filter(({ area }) => serves === 'everything' || area === 'both' || area === serves);
  const openApi: Route = {
    method: 'GET',
    path: '/openapi.json',
    area: 'both',
    operation: {
      operationId: 'openApi',
      summary: 'This document.',
      tag: 'operations',
      responses: { 200: { description: 'OpenAPI 3.1.', type: jsonType, schema: { type: 'object' } } },
    },
    answer: () => document,
  };
  const front: Route = {
    method: 'GET',
    path: '/',
    area: 'both',
    operation: {
      operationId: 'frontPage',
      summary: 'What this is, and what it answers.',
      tag: 'operations',
      responses: { 200: { description: 'Text.', type: plainType, schema: { type: 'string' } } },
    },
    answer: () => page,
  };
  const all = [...own, openApi, front];
  const document = jsonReply(openApiDocument(all));
  const page = textReply(frontPage(all));
  return all;
}
