/** What one sees, as one would write it: TypeScript for a program, YAML for the service. */
import { type AlgorithmName, algorithms, type PolicyOptions } from './algorithms.ts';
import type { Settings } from './settings.ts';

/** `gcra({ limit: 10, window: '10s', burst: 5 })` */
export function policyExpression(name: AlgorithmName, settings: Settings): string {
  const { factoryName, options } = algorithms[name];
  return `${factoryName}({ ${fieldsOf(options(settings), "'").join(', ')} })`;
}

export function typescriptOf(name: AlgorithmName, settings: Settings): string {
  const { factoryName } = algorithms[name];
  const imports = [factoryName, 'limiter'].sort().join(', ');
  return [
    `import { ${imports} } from 'sluice';`,
    '',
    `const limit = limiter(${policyExpression(name, settings)});`,
    '',
    ...usageOf(name),
  ].join('\n');
}

export function yamlOf(name: AlgorithmName, settings: Settings): string {
  const fields = fieldsOf(algorithms[name].options(settings), '').map((field) => `    ${field}`);
  return ['rules:', '  - name: per-user', '    key: user', `    algorithm: ${name}`, ...fields].join('\n');
}

function fieldsOf(options: PolicyOptions, quote: string): string[] {
  return Object.entries(options).map(
    ([field, value]) => `${field}: ${typeof value === 'string' ? `${quote}${value}${quote}` : value}`,
  );
}

function usageOf(name: AlgorithmName): string[] {
  if (name === 'concurrency')
    return [
      "const place = limit.acquire('alice');",
      'if (place.allowed) {',
      '  // the work',
      '  place.release();',
      '}',
    ];
  if (name === 'leaky-bucket' || name === 'smooth')
    return ["const { allowed, delayMs, retryAfterMs } = limit.check('alice');"];
  return ["const { allowed, remaining, retryAfterMs } = limit.check('alice');"];
}
