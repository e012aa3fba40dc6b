// The programs of the service, each in few files: Node would have to find and load some five hundred, in every process and in every thread. What is ours
// is bundled; what others wrote stays where npm puts it, under its own version.
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { build } from 'rolldown';

const isOurs = /^(\.|\/|sluice(\/|$)|@sluice\/)/;

/** The form of the configuration is known when this is built: to compile it at each start would take a third of that. */
const readyValidator = {
  name: 'ready-validator',
  load: {
    filter: { id: /config\/config-validator\.js$/ },
    async handler() {
      const { compiledBy, validatorOptions } = await import('./dist/config/config-validator.js');
      const ajv = new Ajv({ ...validatorOptions, code: { source: true, esm: true } });
      const code = standaloneCode.default(ajv, compiledBy(ajv));
      return `${code}\nexport const configValidator = () => validate;`;
    },
  },
};

await build({
  cwd: fileURLToPath(new URL('.', import.meta.url)),
  input: {
    main: 'dist/main.js',
    worker: 'dist/threads/worker.js',
    generator: 'dist/load/generator.js',
    'store-program': 'dist/plan/measure/store-program.js',
  },
  platform: 'node',
  external: (id) => !isOurs.test(id) && !id.startsWith('ajv/dist/runtime/'),
  plugins: [readyValidator],
  output: { dir: 'program', cleanDir: true, chunkFileNames: '[name]-[hash].js' },
  logLevel: 'warn',
});
