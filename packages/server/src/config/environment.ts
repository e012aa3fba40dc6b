/** Settings from environment variables: `SLUICE_LISTEN_HTTP=9000`. An empty one counts as not set. */
import { nearestName } from './nearest-name.ts';
import type { Problem } from './problem.ts';
import type { SettingSchema } from './schema-kinds.ts';
import { type Setting, settings, typesOf } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'SLUICE_';

/** The variable that names the file. */
export const configVariable = 'SLUICE_CONFIG';

/** Variables of this repository's own tests, which are no settings. */
const foreignVariables = new Set([
  configVariable,
  'SLUICE_TOKEN',
  'SLUICE_SKIP_INTEGRATION',
  'SLUICE_REDIS_BIN',
  'SLUICE_CLOCK_FILE',
]);

/**
 * Kubernetes tells every pod about the services of its namespace. For one that is called `sluice`, or `sluice-admin`, it sets
 * `SLUICE_SERVICE_HOST`, `SLUICE_PORT=tcp://10.0.0.1:8080` and the like, which nobody meant as a setting.
 */
function isFromKubernetes(name: string, value: string): boolean {
  if (/_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/.test(name)) return true;
  if (/_PORT(_\d+_(TCP|UDP|SCTP))?$/.test(name)) return /^(tcp|udp|sctp):\/\//.test(value);
  return /_PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$/.test(name);
}

export interface GivenSetting {
  readonly setting: Setting;
  readonly value: unknown;
}

export function readEnvironment(environment: Environment): { given: GivenSetting[]; problems: Problem[] } {
  const given: GivenSetting[] = [];
  const problems: Problem[] = [];
  const byVariable = new Map(settings.map((setting) => [setting.variable, setting]));
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || value === undefined || value === '') continue;
    const setting = byVariable.get(name);
    if (setting !== undefined) given.push({ setting, value: typedValue(value, setting.schema) });
    else if (!foreignVariables.has(name) && !isFromKubernetes(name, value)) {
      // What all names share says nothing about how near two of them are.
      const near = nearestName(
        name.slice(prefix.length),
        [...byVariable.keys(), configVariable].map((one) => one.slice(prefix.length)),
      );
      const meant = near === undefined ? undefined : prefix + near;
      const wayOut =
        meant === undefined
          ? 'Names are made of the setting, such as SLUICE_LISTEN_HTTP for listen.http.'
          : `Did you mean ${meant}?`;
      problems.push({
        file: 'environment',
        line: 0,
        column: 0,
        path: name,
        message: `${name} is not a setting. ${wayOut}`,
      });
    }
  }
  return { given, problems };
}

/** Text as the kind of value that the setting has. What fits none stays text, and is found to be wrong later. */
export function typedValue(text: string, schema: SettingSchema): unknown {
  const types = typesOf(schema);
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true';
  if ((types.includes('number') || types.includes('integer')) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text;
}
