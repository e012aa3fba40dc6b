/** Installs every server that the tests start, once, before they do: `node packages/test-servers/dist/set-up.js`. */
import { ensureChromium } from './browser.ts';
import { ensureCompiler, ensureDebianPackage, ensureRedis } from './debian-package.ts';
import { ensureEtcd } from './etcd-member.ts';
import { ensureNginx } from './nginx-server.ts';

// One after the other: apt-get works alone.
console.log(`redis-server: ${await ensureRedis()}`);
console.log(`gcc: ${await ensureCompiler()}`);
console.log(`etcd: ${await ensureEtcd()}`);
console.log(`nginx: ${await ensureNginx()}`);
console.log(`curl: ${await ensureDebianPackage('curl', ['curl'])}`);
console.log(`nghttp: ${await ensureDebianPackage('nghttp', ['nghttp2-client'])}`);
console.log(`chromium: ${await ensureChromium()}`);
