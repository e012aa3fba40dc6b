/** The schema as a function. Of the programs it is made when they are built (bundle-programs.mjs): compiling takes longer than everything that is done with it. */
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { configSchema } from './schema.ts';

/** Whether the schema is a valid one a test finds out. */
export const validatorOptions: Options = {
  allErrors: true,
  verbose: true,
  allowUnionTypes: true,
  strict: true,
  validateSchema: false,
  inlineRefs: false,
};

export function compiledBy(ajv: Ajv): ValidateFunction {
  return ajv.addVocabulary(['errorMessage']).compile(configSchema);
}

let compiled: ValidateFunction | undefined;

/** Compiled when the first file is read: commands that read none need not wait for it. */
export function configValidator(): ValidateFunction {
  compiled ??= compiledBy(new Ajv({ ...validatorOptions, code: { optimize: false } }));
  return compiled;
}
