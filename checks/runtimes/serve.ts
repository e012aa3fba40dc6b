/** The program under Bun and Deno, as each of them serves a handler. */
import program from './program.ts';

type Serve = (options: { port: number; hostname: string }, handler: typeof program.fetch) => unknown;
const { Bun, Deno } = globalThis as unknown as {
  Bun?: { serve(options: { port: number; hostname: string; fetch: typeof program.fetch }): unknown };
  Deno?: { serve: Serve };
};

const port = Number(process.env.PORT);
const hostname = '127.0.0.1';
if (Bun) Bun.serve({ port, hostname, fetch: program.fetch });
else Deno?.serve({ port, hostname }, program.fetch);
