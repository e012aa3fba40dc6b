/**
 * The headers that the gateway goes by: who asks, who shares with whom, what is urgent, which route, which member. The member has to see
 * each of them as it was read here, or whoever sends it is limited as one and served as another:
 *
 *      Connection: x-user       the member does not see X-User at all (RFC 9110, 7.6.1)
 *      X_User: ann              behind CGI and its like that is X-User; here it is not
 */
import type { GatewayConfig } from '../../config/gateway-config.ts';
import { Problem } from '../answer-problem.ts';
import { namedAway } from '../wire/hop-by-hop.ts';
import type { HeaderList } from '../wire/message.ts';
import { plainName } from '../wire/plain-name.ts';

/** What may name headers; a configuration has all of it. */
export type HeaderReaders = Partial<Pick<GatewayConfig, 'identify' | 'admissions' | 'upstreams' | 'routes'>>;

/** Throws the refusal of a request whose member would see other headers than those that were read. Undefined: none are read. */
export function identityHeadersCheck(config: HeaderReaders): ((headers: HeaderList) => void) | undefined {
  const names = namesOf(config);
  if (names.size === 0) return undefined;
  const byPlainName = new Map([...names].map((name) => [plainName(name), name]));
  return (headers) => {
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] as string;
      if (name === 'connection') checkConnection(headers[at + 1] as string, names);
      else if (!names.has(name)) checkSpelling(byPlainName.get(plainName(name)));
    }
  };
}

function namesOf({ identify = {}, admissions = {}, upstreams = {}, routes = [] }: HeaderReaders): ReadonlySet<string> {
  const sources = [
    ...Object.values(identify),
    ...Object.values(admissions).flatMap(({ tenant, priority }) => [tenant, priority]),
    ...Object.values(upstreams).map(({ stickyBy }) => stickyBy),
  ];
  const names = sources.flatMap((source) => (source?.from === 'header' ? [source.name] : []));
  return new Set(
    [...names, ...routes.flatMap(({ headers }) => Object.keys(headers))].map((name) => name.toLowerCase()),
  );
}

function checkConnection(value: string, names: ReadonlySet<string>): void {
  for (const name of namedAway(value)) {
    if (names.has(name))
      throw new Problem(400, `Connection names ${name}, which is not for this hop alone. Leave it out.`);
  }
}

/** @param name of the header that it could be taken for */
function checkSpelling(name: string | undefined): void {
  if (name !== undefined) throw new Problem(400, `The header ${name} is there with other marks. Spell it ${name}.`);
}
