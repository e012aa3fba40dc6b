/**
 * `envoyproxy/ratelimit` files. What loads there loads here and means the same; what is rejected there is rejected here, in the same
 * words where it has any, with the line and the column. `load-limit.ts` has the one key that is our own.
 */
import type { Node } from 'yaml';
import { depthMax, isDeeper } from '../grpc/struct-codec.ts';
import type { Choices, ConfiguredDescriptor, ConfiguredLimit, EnvoyRules } from './envoy-rules.ts';
import { EnvoyFilesError, type FileProblem } from './file-problem.ts';
import { loadLimit, type Place } from './load-limit.ts';
import { descriptorKeys, fieldsOf, rootKeys } from './upstream-keys.ts';
import { type Wildcard, wildcard } from './wildcard.ts';
import { type Field, YamlFile } from './yaml-file.ts';

export interface EnvoyFile {
  /** As problems name it. */
  readonly path: string;
  readonly text: string;
}

export interface EnvoyFilesOptions {
  /** Whether files may add to a domain of an earlier one. */
  readonly mergeDomains: boolean;
}

// Answers have it as a field of their own metadata.
const deepestMetadata = depthMax - 1;

// Levels of descriptors; a request needs as many entries to reach the last.
const deepest = 32;

/** `Choices` while they are being read. */
interface Branch extends Choices {
  readonly exact: Map<string, ConfiguredDescriptor>;
  readonly patterns: (readonly [Wildcard, ConfiguredDescriptor])[];
  any: ConfiguredDescriptor | undefined;
  /** Values that are there already; empty is any. */
  readonly taken: Set<string>;
}
type Branches = Map<string, Branch>;

/** Throws an `EnvoyFilesError` with everything that is wrong. */
export function loadEnvoyFiles(files: readonly EnvoyFile[], { mergeDomains }: EnvoyFilesOptions): EnvoyRules {
  const domains = new Map<string, Branches>();
  const limits: ConfiguredLimit[] = [];
  const problems: FileProblem[] = [];
  const warnings: FileProblem[] = [];
  for (const { path, text } of files) {
    const file = new YamlFile(path, text);
    if (file.problems.length === 0) loadFile(file, domains, limits, mergeDomains);
    problems.push(...file.problems);
    warnings.push(...file.warnings);
  }
  if (problems.length > 0) throw new EnvoyFilesError(problems);
  return { domains, limits, warnings };
}

function loadFile(
  file: YamlFile,
  domains: Map<string, Branches>,
  limits: ConfiguredLimit[],
  mergeDomains: boolean,
): void {
  const root = fieldsOf(file, file.root, 'the file', rootKeys);
  const node = root?.get('domain')?.value ?? null;
  const domain = root && file.text(node, 'domain');
  if (root === undefined || domain === undefined) return;
  const known = domains.get(domain);
  if (domain === '') file.problem(node, 'config file cannot have empty domain');
  else if (known && !mergeDomains) file.problem(node, `duplicate domain '${domain}' in config file`);
  else {
    const branches: Branches = known ?? new Map();
    domains.set(domain, branches);
    loadLevel(file, root.get('descriptors'), { domain, compositeKey: domain, levels: [] }, branches, limits);
  }
}

function loadLevel(
  file: YamlFile,
  field: Field | undefined,
  parent: Place,
  branches: Branches,
  limits: ConfiguredLimit[],
): void {
  if (field === undefined) return;
  if (parent.levels.length === deepest) {
    file.problem(field.keyNode, `descriptors are nested deeper than ${deepest}`);
    return;
  }
  for (const node of file.maps(field.value, 'descriptors') ?? []) loadDescriptor(file, node, parent, branches, limits);
}

function loadDescriptor(
  file: YamlFile,
  node: Node,
  parent: Place,
  branches: Branches,
  limits: ConfiguredLimit[],
): void {
  const fields = fieldsOf(file, node, 'a descriptor', descriptorKeys);
  if (fields === undefined) return;
  const at = (name: string): Node | null => fields.get(name)?.value ?? null;
  const flag = (name: string): boolean => file.flag(at(name), name) ?? false;
  const key = file.text(at('key'), 'key');
  const value = file.text(at('value'), 'value');
  if (key === '') file.problem(at('key') ?? node, 'descriptor has empty key');
  if (key === undefined || value === undefined || key === '') return;

  const composite = value === '' ? key : `${key}_${value}`;
  const compositeKey = `${parent.compositeKey}.${composite}`;
  const isPattern = value.includes('*');
  const isShared = flag('share_threshold');
  if (isShared && !isPattern) {
    const rule = "share_threshold can only be used with wildcard values (containing '*')";
    file.problem(at('share_threshold'), `${rule}, but found key '${composite}'`);
  }
  const branch: Branch = branches.get(key) ?? { exact: new Map(), patterns: [], any: undefined, taken: new Set() };
  branches.set(key, branch);
  if (branch.taken.has(value)) {
    file.problem(at('key'), `duplicate descriptor composite key '${compositeKey}'`);
    return;
  }
  branch.taken.add(value);
  const level = { key, value, isShared, isInMetric: flag('value_to_metric') };
  const place: Place = { domain: parent.domain, compositeKey, levels: [...parent.levels, level] };
  const limit = loadLimit(file, at('rate_limit'), place, {
    isShadow: flag('shadow_mode'),
    isQuota: flag('quota_mode'),
    isDetailed: flag('detailed_metric'),
    metadata: metadataOf(file, at('metadata')),
  });
  if (limit) limits.push(limit);
  const children: Branches = new Map();
  const descriptor = { limit, children, isOneCounter: isPattern ? isShared : value !== '' };
  if (isPattern) branch.patterns.push([wildcard(value), descriptor]);
  else if (value === '') branch.any = descriptor;
  else branch.exact.set(value, descriptor);
  loadLevel(file, fields.get('descriptors'), place, children, limits);
}

function metadataOf(file: YamlFile, node: Node | null): Readonly<Record<string, unknown>> | undefined {
  const fields = file.map(node, 'metadata', true);
  if (fields === undefined || fields.size === 0) return undefined;
  const metadata = file.data(node, 'metadata') as Record<string, unknown>;
  if (isDeeper(metadata, deepestMetadata)) {
    file.problem(node, `error parsing metadata: values are nested deeper than ${deepestMetadata}`);
  }
  return metadata;
}
