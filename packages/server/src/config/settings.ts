/**
 * Every setting that is one value, by its path in the file, and the environment variable that overrides it. Names are mechanical:
 * `limits.bodyBytes` is `SLUICE_LIMITS_BODY_BYTES`.
 */
import { configSchema } from './schema.ts';
import type { SettingSchema } from './schema-kinds.ts';

export interface Setting {
  /** `listen.http` */
  readonly path: string;
  /** `SLUICE_LISTEN_HTTP` */
  readonly variable: string;
  readonly schema: SettingSchema;
}

export function typesOf(schema: SettingSchema): readonly string[] {
  return [schema.type].flat();
}

/** Whether it can be said in one value; a door may be a map, and trusted proxies a list, but need not be. */
export function isOneValue(schema: SettingSchema): boolean {
  return typesOf(schema).some((type) => type !== 'object' && type !== 'array');
}

export function variableOf(path: string): string {
  const words = path.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('.', '_');
  return `SLUICE_${words.toUpperCase()}`;
}

function placesOf(schema: SettingSchema, path: string): { readonly path: string; readonly schema: SettingSchema }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`;
    return [{ path: own, schema: field }, ...(field.type === 'object' ? placesOf(field, own) : [])];
  });
}

/** Settings, lists and the sections around them. */
export const places = placesOf(configSchema, '');

export const settings: readonly Setting[] = places
  .filter(({ schema }) => isOneValue(schema))
  .map(({ path, schema }) => ({ path, variable: variableOf(path), schema }));
