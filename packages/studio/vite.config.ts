import { defineConfig } from 'vite';

// Without `@sluice/source`: the page runs the packages as they are published, not their sources.
export default defineConfig({
  // The same files serve at the root of a service and in any folder of a static host.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'site',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined files would be `data:` addresses, which the Content-Security-Policy allows for pictures alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  // While developing, the live view watches a service that runs beside.
  server: { proxy: { '/v1': process.env.SLUICE_URL ?? 'http://127.0.0.1:8080' } },
});
