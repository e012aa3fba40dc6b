/** Installs every server that the tests start, once, before they do: `node packages/test-servers/dist/set-up.js`. */
import { ensureCompiler, ensureRedis } from './debian-package.ts';

// One after the other: apt-get works alone.
console.log(`redis-server: ${await ensureRedis()}`);
console.log(`gcc: ${await ensureCompiler()}`);
