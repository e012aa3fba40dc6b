/**
 * What no single field of `gateway` shows: names that nothing has, settings that mean nothing without another. Said also where the form of
 * something else is wrong, so that nobody has to run twice; every look here takes what it finds for anything.
 */
import { SluiceError } from 'sluice';
import { clientIp } from 'sluice/http';
import { adaptiveSchema } from './admission-schema.ts';
import { isMap, listIn, mapIn } from './any-data.ts';
import { type Data, type Given, withDefaults } from './build-values.ts';
import { memberAddress } from './member-address.ts';
import { noSuch } from './nearest-name.ts';
import { type Path, showValue } from './problem.ts';
import type { ProblemList } from './problem-list.ts';
import { routeProblems } from './route-problems.ts';
import { givenFields, parseSource } from './source-schema.ts';
import { upstreamSchema } from './upstream-schema.ts';

export interface GatewayNames {
  readonly upstreams: readonly string[];
  readonly admissions: readonly string[];
  /** By name, as they were written. */
  readonly rules: ReadonlyMap<string, Data>;
  /** Fields of the subject. */
  readonly fields: readonly string[];
}

export function gatewayProblems({ data, list }: Given): void {
  if (!isMap(data.gateway)) return;
  const { gateway } = data;
  const upstreams = mapIn(gateway.upstreams);
  const admissions = mapIn(gateway.admissions);
  const identify = mapIn(gateway.identify);
  const rules = listIn(data.rules).filter(isMap);
  const names: GatewayNames = {
    upstreams: Object.keys(upstreams),
    admissions: Object.keys(admissions),
    rules: new Map(rules.map((rule) => [String(rule.name), rule])),
    fields: [...givenFields, ...Object.keys(identify)],
  };
  trustProblems(gateway, list);
  identifyProblems(identify, list);
  for (const [name, admission] of Object.entries(admissions))
    admissionProblems(['gateway', 'admissions', name], mapIn(admission), names, list);
  for (const [name, upstream] of Object.entries(upstreams))
    upstreamProblems(['gateway', 'upstreams', name], mapIn(upstream), names, list);
  routeProblems(gateway, names, list);
}

function trustProblems({ trustProxy }: Data, list: ProblemList): void {
  if (list.has('gateway', 'trustProxy')) return;
  for (const [i, network] of [trustProxy].flat().entries()) {
    if (typeof network !== 'string') continue;
    try {
      clientIp('127.0.0.1', undefined, { trustProxy: [network] });
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      list.add(
        ['gateway', 'trustProxy', ...(Array.isArray(trustProxy) ? [i] : [])],
        `must be an address or a network such as 10.0.0.0/8, loopback or private, got ${showValue(network)}.`,
      );
    }
  }
}

function identifyProblems(identify: Data, list: ProblemList): void {
  for (const field of Object.keys(identify)) {
    const path = ['gateway', 'identify', field];
    if (givenFields.includes(field))
      list.add(path, 'is known of every request already. Choose another name for what a client says itself.', 'name');
    else if (!/^[A-Za-z_][\w-]*$/.test(field))
      list.add(path, 'must be a name of letters, digits, _ and -, such as user.', 'name');
    else if (field === 'all')
      list.add(path, 'is what everybody together is called in keys of rules. Choose another name.', 'name');
  }
}

function admissionProblems(path: Path, admission: Data, names: GatewayNames, list: ProblemList): void {
  nameProblem(path, list);
  sourceProblem([...path, 'tenant'], admission.tenant, names, list);
  sourceProblem([...path, 'priority'], admission.priority, names, list);
  for (const [field, needed, example] of [
    ['weights', 'tenant', 'header:x-tenant'],
    ['defaultWeight', 'tenant', 'header:x-tenant'],
    ['priorities', 'priority', 'header:x-priority'],
  ] as const) {
    if (Object.hasOwn(admission, field) && !Object.hasOwn(admission, needed))
      list.add(
        [...path, field],
        `means nothing without ${needed}. Say where that comes from, such as ${needed}: ${example}.`,
        'name',
      );
  }
  const { min, max } = mapIn(withDefaults(mapIn(admission.concurrency), adaptiveSchema));
  if (typeof min === 'number' && typeof max === 'number' && min > max && !list.has(...path, 'concurrency'))
    list.add([...path, 'concurrency'], `must have a min of at most max, got ${min} and ${max}.`);
}

function upstreamProblems(path: Path, upstream: Data, names: GatewayNames, list: ProblemList): void {
  nameProblem(path, list);
  sourceProblem([...path, 'stickyBy'], upstream.stickyBy, names, list);
  const { balancer = upstreamSchema.properties?.balancer?.default } = upstream;
  if (Object.hasOwn(upstream, 'stickyBy') && balancer !== 'hash-ring')
    list.add(
      [...path, 'stickyBy'],
      `needs the balancer hash-ring, and this is ${showValue(balancer)}. Only hash-ring keeps a client at its member.`,
      'name',
    );
  memberProblems([...path, 'members'], listIn(upstream.members), list);
  const { status } = mapIn(upstream.health);
  const [from, to] = String(status).split('-').map(Number);
  if (from !== undefined && to !== undefined && from > to)
    list.add([...path, 'health', 'status'], `must be from the smaller to the larger status, got ${showValue(status)}.`);
}

function memberProblems(path: Path, members: readonly unknown[], list: ProblemList): void {
  const firstOf = new Map<string, number>();
  for (const [i, member] of members.entries()) {
    const written = isMap(member) ? member.address : member;
    const at = isMap(member) ? [...path, i, 'address'] : [...path, i];
    if (typeof written !== 'string' || list.has(...at)) continue;
    const { id, port } = memberAddress(written);
    if (port < 1 || port > 65_535) list.add(at, `must have a port from 1 to 65535, got ${port}.`);
    const first = firstOf.get(id);
    if (first === undefined) firstOf.set(id, i);
    else list.add(at, `is ${id}, as members[${first}] is. For more of the load give it a weight.`);
  }
}

/** It becomes a label of metrics, and stands in the access log. */
function nameProblem(path: Path, list: ProblemList): void {
  if (!/^[\w.-]{1,128}$/.test(String(path.at(-1))))
    list.add(path, 'must be a name of 1 to 128 letters, digits, dots, _ and -.', 'name');
}

function sourceProblem(path: Path, text: unknown, { fields }: GatewayNames, list: ProblemList): void {
  if (typeof text !== 'string' || list.has(...path)) return;
  const { from, name } = parseSource(text);
  if (from === 'field' && !fields.includes(name))
    list.add(path, `is ${showValue(name)}, ${noSuch('field', name, fields)} A header is written header:${name}.`);
}
