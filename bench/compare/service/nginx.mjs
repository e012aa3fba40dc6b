// nginx with limit_req. It limits before it serves a file, and files are served to GET only: its user comes in the address and it reads
// no body.
import { startNginx as start } from '../nginx.mjs';

/** @param {string} body */
export function startNginx(body) {
  return start(
    (folder, port) => `
      # Asked for the same file all the time.
      open_file_cache max=10;
      limit_req_zone $arg_user zone=users:64m rate=1000r/s;
      server {
        listen 127.0.0.1:${port};
        location = /v1/check {
          limit_req zone=users burst=1000 nodelay;
          default_type application/json;
          alias ${folder}/check;
        }
      }`,
    { files: { check: body } },
  );
}
