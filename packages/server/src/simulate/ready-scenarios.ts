/** The scenarios that come along: one YAML file each, in the package of the simulator. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { readYaml } from '../config/yaml-source.ts';
import { harmless } from './harmless.ts';

export interface ReadyScenario {
  /** What is typed after `sluice simulate`. */
  readonly name: string;
  readonly file: string;
}

export function readyFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@sluice/simulator/package.json')), 'scenarios');
}

export function readyScenarios(folder: string): ReadyScenario[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => ({ name: basename(name, '.yaml'), file: join(folder, name) }));
}

/** What it shows, on one line. */
export function aboutOf({ file }: ReadyScenario): string {
  const { data } = readYaml(readFileSync(file, 'utf8'));
  const { about } = (data ?? {}) as { readonly about?: unknown };
  return typeof about === 'string' ? harmless(about).trim() : '';
}
