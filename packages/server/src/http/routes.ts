/** All routes, in the order in which they are shown. */
import {
  byQuery,
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
import { live, status } from './live-routes.ts';
import { openApiDocument } from './openapi.ts';
import { health, metrics, readiness } from './operations-routes.ts';
import { htmlType, jsonReply, jsonType, plainType, textReply } from './reply.ts';
import type { Route } from './route.ts';
import type { Site } from './site.ts';

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
  byQuery(putOverride),
  byQuery(deleteOverride),
  inspectKey,
  resetKey,
  byQuery(inspectKey),
  byQuery(resetKey),
  topRefused,
  reload,
  status,
  live,
  metrics,
  health,
  readiness,
];

/** The routes of a door, with those that describe them, and the files of the studio where there is one. */
export function routesOf(serves: Serves, studio?: Site): readonly Route[] {
  const site = serves === 'checks' ? undefined : studio;
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
    // Neither the studio nor the list of what there is holds a secret. What they show is asked for with a token.
    ...(site && { isOpen: true }),
    operation: {
      operationId: 'frontPage',
      summary: site
        ? 'The studio for browsers; for others what this is, and what it answers.'
        : 'What this is, and what it answers.',
      tag: 'operations',
      responses: {
        200: {
          description: site ? 'Text, or a page.' : 'Text.',
          type: plainType,
          schema: { type: 'string' },
          ...(site && { browserType: htmlType }),
        },
      },
    },
    answer({ headers }) {
      if (site === undefined) return page;
      return headers.accept?.includes('text/html')
        ? site.index.reply(headers, 'Accept')
        : { ...page, headers: ['Vary', 'Accept'] };
    },
  };
  const described = [...own, openApi, front];
  const document = jsonReply(openApiDocument(described));
  const page = textReply(frontPage(described, serves));
  return [...described, ...(site ? filesOf(site, front) : [])];
}

/** They are found like any route, and described by none: their names are the builder's. */
function filesOf({ files }: Site, { operation }: Route): Route[] {
  return [...files].map(([path, file]) => ({
    method: 'GET',
    path,
    area: 'both',
    isOpen: true,
    operation,
    answer: ({ headers }) => file.reply(headers),
  }));
}
