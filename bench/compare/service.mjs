// The service behind its three doors, beside what people run today: Redis with a script, node:http, fastify, nginx, grpc-js.
import { runPieces } from './pieces.mjs';
import { grpc } from './service/grpc.mjs';
import { http } from './service/http.mjs';
import { load } from './service/load.mjs';
import { memory } from './service/memory.mjs';
import { resp } from './service/resp.mjs';
import { threads } from './service/threads.mjs';

/** @param {import('../run.mjs').Run} run */
export function service(run) {
  return runPieces({ resp, threads, http, grpc, memory, load }, run);
}
