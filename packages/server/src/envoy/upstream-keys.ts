/** Which keys a file may have, and where. */
import type { Node } from 'yaml';
import type { Field, YamlFile } from './yaml-file.ts';

export const rootKeys = ['domain', 'descriptors'];
export const descriptorKeys = [
  'key',
  'value',
  'descriptors',
  'rate_limit',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'metadata',
];
export const rateLimitKeys = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces'];
export const replacesKeys = ['name'];
/** Ours, in a `rate_limit`. */
export const extensionKeys = ['algorithm', 'burst', 'slots'];

const upstreamKeys = [...rootKeys, ...descriptorKeys, ...rateLimitKeys];

/**
 * The fields of a map that may have these keys. A key that is known elsewhere loads, because it does in `envoyproxy/ratelimit`, and has
 * no effect there either; a `shadow_mode` in the wrong place is a limit that bites, so it is not kept quiet.
 */
export function fieldsOf(
  file: YamlFile,
  node: Node | null,
  what: string,
  keys: readonly string[],
): ReadonlyMap<string, Field> | undefined {
  const fields = file.map(node, what);
  if (fields === undefined) return undefined;
  let isKnown = true;
  for (const [key, { keyNode }] of fields) {
    if (keys.includes(key)) continue;
    if (upstreamKeys.includes(key)) file.warning(keyNode, `'${key}' has no effect in ${what}`);
    else {
      file.problem(keyNode, `config error, unknown key '${key}'`);
      isKnown = false;
    }
  }
  return isKnown ? fields : undefined;
}
