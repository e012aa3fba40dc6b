// What is published about the configuration is what the service reads. `vitest run packages/server/src/config -u` writes both anew.

import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { fieldsOfStore } from './build-store.ts';
import { readConfig } from './read-config.ts';
import { referencePage } from './reference-page.test-support.ts';
import { configSchema } from './schema.ts';
import { schemaFile } from './schema-file.test-support.ts';
import type { SettingSchema } from './schema-kinds.ts';
import { settings } from './settings.ts';

test('sluice.schema.json is the schema', async () => {
  await expect(schemaFile(configSchema)).toMatchFileSnapshot('../../sluice.schema.json');
  expect(JSON.parse(schemaFile(configSchema))).toEqual(configSchema);
});

test('the schema is a valid one, which the service does not look for when it starts', () => {
  const reader = new Ajv({ strict: true });
  expect(reader.validateSchema(configSchema), JSON.stringify(reader.errors)).toBe(true);
});

test('docs/reference/configuration.md says what the schema says', async () => {
  await expect(referencePage()).toMatchFileSnapshot('../../../../docs/reference/configuration.md');
});

test('the reference names every setting with its variable and default', () => {
  const page = referencePage();
  for (const { path, variable, schema } of settings) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${path}\` |`));
    expect(row, path).toContain(`\`${variable}\``);
    if (schema.default !== undefined) expect(row, path).toContain(`\`${schema.default}\``);
  }
});

test('the examples of the reference are configurations', () => {
  const [first, second, ...others] = [...referencePage().matchAll(/```yaml\n(.*?)```/gs)];
  expect(readConfig({ text: first?.[1] })).toHaveProperty('config.rules.length', 2);
  expect(readConfig({ text: second?.[1] })).toHaveProperty('config.gateway.routes.length', 2);
  expect(others).toEqual([]);
});

test('every field of the schema is described, and says what it must be', () => {
  const wanting: string[] = [];
  const walk = (schema: SettingSchema, path: string): void => {
    if (!schema.description?.endsWith('.')) wanting.push(`${path}: description`);
    if (!schema.errorMessage?.startsWith('must be ')) wanting.push(`${path}: errorMessage`);
    for (const [name, field] of Object.entries(schema.properties ?? {})) walk(field, `${path}.${name}`);
    if (schema.items) walk(schema.items, `${path}[]`);
    if (typeof schema.additionalProperties === 'object') walk(schema.additionalProperties, `${path}.*`);
  };
  walk(configSchema, '');
  expect(wanting).toEqual([]);
});

test('every default of the schema is a value that the schema takes', () => {
  const defaults = settings.filter(({ schema }) => schema.default !== undefined);
  for (const { path, schema } of defaults) {
    // The format of a log needs its path; that it is known is seen by the tests of the gateway.
    if (path === 'gateway.accessLog.format') continue;
    const needed: Record<string, string> = {
      snapshot: 'path: /tmp/s',
      envoy: 'directory: .',
      tracing: 'endpoint: "http://x"',
      gateway: 'upstreams: { a: { members: ["127.0.0.1:1"] } }',
    };
    const [section = '', ...fields] = path.split('.');
    const value = fields.reduceRight((inner, field) => `{ ${field}: ${inner} }`, JSON.stringify(schema.default));
    const others = section === 'store' ? storeWith(fields[0]) : needed[section];
    const text = `${section}: ${others === undefined ? value : value.replace('{ ', `{ ${others}, `)}`;
    expect(readConfig({ text }), text).toHaveProperty('config');
  }
});

/** A store takes only the fields of its kind. */
function storeWith(field: string | undefined): string | undefined {
  const kinds: Record<string, string> = {
    redis: 'type: redis, url: "redis://a"',
    owned: 'type: owned, etcd: "http://a:1"',
    cluster: 'type: cluster, nodes: [a:1]',
  };
  return Object.entries(kinds).find(([kind]) => fieldsOfStore[kind as 'redis'].includes(field ?? ''))?.[1];
}

test('the schema is in the package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(manifest.files).toContain('sluice.schema.json');
  expect(parse(readFileSync(new URL('../../sluice.schema.json', import.meta.url), 'utf8'))).toEqual(configSchema);
});
