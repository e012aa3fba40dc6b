/** Whether data has the form of the schema: names and kinds of values. What is wrong is said in our words. */
import type { ErrorObject } from 'ajv';
import { configValidator } from './config-validator.ts';
import { nearestName } from './nearest-name.ts';
import { kindOf, type Path, pathText, showValue } from './problem.ts';
import type { SettingSchema } from './schema-kinds.ts';
import { places } from './settings.ts';

export interface StructureProblem {
  readonly path: Path;
  /** A misspelt name is told at the name, a wrong value at the value, a missing field at the map around it. */
  readonly kind: 'unknown' | 'missing' | 'type' | 'value';
  /** What is wrong, without the path that it is about. */
  readonly message: string;
}

export function structureProblems(data: unknown): StructureProblem[] {
  const validate = configValidator();
  if (validate(data)) return [];
  const found = new Map<string, StructureProblem>();
  for (const error of validate.errors ?? []) {
    const problem = problemOf(error, data);
    const place = pathText(problem.path);
    // One value may break several keywords of its schema; it is wrong once.
    if (!found.has(place)) found.set(place, problem);
  }
  return [...found.values()];
}

function problemOf(
  { instancePath, keyword, params, parentSchema, data: value }: ErrorObject,
  root: unknown,
): StructureProblem {
  const path = pathOf(instancePath, root);
  const schema = parentSchema as SettingSchema;
  if (keyword === 'additionalProperties') {
    const name = String(params.additionalProperty);
    return { path: [...path, name], kind: 'unknown', message: unknownField(name, schema) };
  }
  if (keyword === 'required') {
    const name = String(params.missingProperty);
    const mustBe = schema.properties?.[name]?.errorMessage;
    return { path: [...path, name], kind: 'missing', message: `is missing; it ${mustBe}.` };
  }
  if (value === null) {
    return {
      path,
      kind: 'type',
      message: `is empty; it ${schema.errorMessage}. To leave it at its default, remove the line.`,
    };
  }
  const got = schema.writeOnly ? kindOf(value) : showValue(value);
  const kind = keyword === 'type' ? 'type' : 'value';
  return { path, kind, message: `${schema.errorMessage}, got ${got}.${meantChoice(value, schema)}` };
}

function meantChoice(value: unknown, schema: SettingSchema): string {
  if (typeof value !== 'string' || schema.enum === undefined) return '';
  const meant = nearestName(value, schema.enum as string[]);
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

function unknownField(name: string, { properties = {} }: SettingSchema): string {
  const meant = nearestName(name, Object.keys(properties));
  if (meant !== undefined) return `is not a field. Did you mean ${meant}?`;
  const elsewhere = places.find(({ path }) => path === name || path.endsWith(`.${name}`));
  if (elsewhere !== undefined) return `is not a field here. Did you mean ${elsewhere.path}?`;
  return `is not a field. There are ${Object.keys(properties).join(', ')}.`;
}

/** From a JSON pointer; whether `0` is a name or a place in a list, the data says. */
function pathOf(pointer: string, root: unknown): Path {
  let at: unknown = root;
  return pointer
    .split('/')
    .slice(1)
    .map((escaped) => {
      const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
      const step = Array.isArray(at) ? Number(name) : name;
      at = (at as Record<string | number, unknown> | undefined)?.[step];
      return step;
    });
}
