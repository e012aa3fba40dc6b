/** docs/reference/configuration.md, made of the schema. */
import { policyFields } from './rule-schema.ts';
import { configSchema } from './schema.ts';
import type { SettingSchema } from './schema-kinds.ts';
import { isOneValue, variableOf } from './settings.ts';

const introduction = `# Configuration

\`sluice serve --config sluice.yaml\` reads a YAML file; \`sluice validate sluice.yaml\` says what is wrong with one, with line and column, or
what it amounts to. The file is read again when it changes, on SIGHUP and on \`POST /v1/reload\`: a wrong one changes nothing, and the log says why.

This page is made of the schema by a test; \`node_modules/.bin/vitest run packages/server/src/config -u\` writes it anew.

\`\`\`yaml
# yaml-language-server: $schema=./node_modules/sluice-server/sluice.schema.json
rules:
  - name: per-ip
    key: ip
    algorithm: gcra
    limit: 100
    window: 1m
    burst: 20
  - name: per-user
    key: user
    algorithm: sliding-log
    tiers: { free: { limit: 10, window: 1m }, paid: { limit: 1000, window: 1m } }
    onStoreFailure: closed
store: { type: memory }
\`\`\`

The first line gives editors completion and checks as you type. \`sluice validate --schema\` prints the schema too.

- **Precedence**: the command line wins over the environment, that over the file, that over the default.
- **Environment**: every setting that is one value has a variable, made of its path: \`limits.bodyBytes\` is \`SLUICE_LIMITS_BODY_BYTES\`.
  An empty variable counts as not set; a variable that begins with \`SLUICE_\` and is no setting is an error. \`SLUICE_CONFIG\` names the file.
- **Times** are text such as \`250ms\`, \`10s\`, \`1m\`, \`1h\`, \`1d\`, \`1w\`, or a number of milliseconds. **Sizes** are a number of bytes, or text
  such as \`64kb\` (1 kb is 1024 bytes). **Doors** are a port, \`host:port\`, \`{ host, port }\`, or \`false\` for closed.
- **Paths** in the file start from the file's folder; on the command line and in variables, from where the service runs.
- **Reload** applies \`rules\`, \`allow\`, \`deny\`, \`ipv6Subnet\`, \`envoy\`, tokens and \`logs.level\`; of \`gateway\`, its \`routes\`, \`upstreams\`, \`admissions\`,
  \`identify\`, \`trustProxy\` and \`accessLog\`, and the certificate and key of its \`tls\`, whose files are read again whenever they change. Everything else
  needs a restart, and the log names what.
- **Secrets** (${secretFields(configSchema)}) are never shown, neither in logs nor in problems.
`;

const gatewayExample = `\`\`\`yaml
gateway:
  listen: 0.0.0.0:8000
  identify: { user: header:x-user, tier: header:x-plan }
  admissions:
    main: { concurrency: { algorithm: gradient, max: 500 }, tenant: user, priority: header:x-priority, priorities: { high: 1, low: 9 } }
  routes:
    - { name: api, match: { path: [/v1, /v1/*] }, upstream: api, admission: main, stripPrefix: /v1 }
    - { name: pages, upstream: web }
  upstreams:
    api:
      members: [ 10.0.0.1:9001, { address: 10.0.0.2:9001, weight: 3 } ]
      health: { path: /healthz }
      breaker: true
    web:
      members: [ http://web.internal:8080 ]
\`\`\`
`;

export function referencePage(): string {
  const { rules, ...rest } = configSchema.properties as { rules: SettingSchema } & Record<string, SettingSchema>;
  const top = Object.entries(rest).filter(([, schema]) => schema.type !== 'object');
  const sections = Object.entries(rest).filter(([, schema]) => schema.type === 'object');
  const rule = rules.items?.properties as Record<string, SettingSchema>;
  const ofPolicy = Object.entries(rule).filter(([name]) => Object.hasOwn(policyFields, name));
  const ofRule = Object.entries(rule).filter(([name]) => !Object.hasOwn(policyFields, name));
  return [
    introduction,
    `## rules\n\n${rules.description} Each has these fields, and those of its policy beside them.\n`,
    table(ofRule.map(([name, schema]) => [`\`${name}\``, kindOf(schema), defaultOf(schema), schema.description])),
    `### A policy's fields\n\nIn a rule, and in each of its \`tiers\`.\n`,
    table(ofPolicy.map(([name, schema]) => [`\`${name}\``, kindOf(schema), defaultOf(schema), schema.description])),
    '## Whole service\n',
    settingsTable(top),
    ...sections.flatMap(([name, schema]) => [
      `## ${name}\n\n${schema.description}\n`,
      ...(name === 'gateway' ? [gatewayExample] : []),
      settingsTable(leavesOf(name, schema)),
    ]),
    ...gatewayParts(rest.gateway as SettingSchema),
  ].join('\n');
}

/** What has a name of the user's, or a place in a list, has no variable. */
function gatewayParts({ properties = {} }: SettingSchema): string[] {
  const { routes, upstreams, admissions } = properties as Record<string, SettingSchema>;
  const parts = {
    routes: routes?.items,
    upstreams: upstreams?.additionalProperties,
    admissions: admissions?.additionalProperties,
  };
  return Object.entries(parts).flatMap(([name, schema]) => {
    const { description } = schema as SettingSchema;
    const rows = fieldsOf('', schema as SettingSchema).map(([path, field]) => [
      `\`${path}\``,
      kindOf(field),
      defaultOf(field),
      field.description,
    ]);
    return [`### Fields of gateway.${name}\n\n${description}\n`, table(rows)];
  });
}

/** All fields, those of its maps and of the items of its lists too. */
function fieldsOf(path: string, { properties = {} }: SettingSchema): [string, SettingSchema][] {
  return Object.entries(properties).flatMap(([name, field]): [string, SettingSchema][] => {
    const own = path === '' ? name : `${path}.${name}`;
    const inside = field.items ? fieldsOf(`${own}[]`, field.items) : fieldsOf(own, field);
    const isOnlyAMap = field.type === 'object' && field.properties !== undefined;
    return isOnlyAMap ? inside : [[own, field], ...inside];
  });
}

function leavesOf(path: string, schema: SettingSchema): [string, SettingSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    field.type === 'object' && field.properties ? leavesOf(`${path}.${name}`, field) : [[`${path}.${name}`, field]],
  );
}

function settingsTable(settings: readonly [string, SettingSchema][]): string {
  const rows = settings.map(([path, schema]) => {
    return [
      `\`${path}\``,
      kindOf(schema),
      defaultOf(schema),
      isOneValue(schema) ? `\`${variableOf(path)}\`` : '',
      schema.description,
    ];
  });
  return table(rows, ['setting', 'value', 'default', 'variable', 'meaning']);
}

function table(rows: readonly string[][], head = ['field', 'value', 'default', 'meaning']): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return `${[head, head.map(() => '---'), ...rows].map(line).join('\n')}\n`;
}

/** What it must be, in the words of its problems. */
function kindOf({ errorMessage }: SettingSchema): string {
  return errorMessage
    .replace(/^must be /, '')
    .replace(/^(a|an) /, '')
    .replaceAll('|', '\\|');
}

function defaultOf(schema: SettingSchema): string {
  if (schema.default === undefined) return '';
  if (typeof schema.default === 'object' && Object.keys(schema.default as object).length === 0) return 'none';
  return `\`${Array.isArray(schema.default) ? JSON.stringify(schema.default) : String(schema.default)}\``;
}

function secretFields(schema: SettingSchema): string {
  const secrets = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => leavesOf(name, field));
  return secrets.flatMap(([path, { writeOnly }]) => (writeOnly ? [`\`${path}\``] : [])).join(', ');
}
