/** Who called: the name that the parts of the key make, as a rule's key would be made of them. */
import type { KeyPart } from './choose-fields.ts';
import { isMissing, type Slots } from './fields.ts';
import type { ByteRange } from './log-line.ts';
import { NameBuffer, setRange } from './name-buffer.ts';
import { type NetworkWriter, networkWriter } from './network.ts';

const [bar, percent, colon, comma, blank] = [0x7c, 0x25, 0x3a, 0x2c, 0x20];

/** Sets `client` from the slots; false: this line lacks a part of the key, so that a rule would not count it. */
export type ClientNamer = (client: ByteRange, route: ByteRange) => boolean;

export function clientNamer(parts: readonly KeyPart[], slots: Slots, ipv6Subnet: number): ClientNamer {
  const writeNetwork = networkWriter(ipv6Subnet);
  const [only] = parts;
  if (parts.length === 1 && only!.kind === 'address') return addressNamer(slots.get(only!.field)!, writeNetwork);
  if (parts.length === 1 && only!.kind === 'text') return textNamer(slots.get(only!.field)!);

  const name = new NameBuffer();
  const part = new NameBuffer();
  const writers = parts.map((each) => partWriter(each, slots, writeNetwork));
  return (client, route) => {
    name.clear();
    for (const [place, write] of writers.entries()) {
      part.clear();
      if (!write(part, route)) return false;
      if (place > 0) name.push(bar);
      if (writers.length === 1) name.append(part.bytes, 0, part.length);
      else appendEscaped(name, part);
    }
    name.lend(client);
    return true;
  };
}

/** An IPv4 address is its own name, as it stands in the line. */
function addressNamer(slot: ByteRange, writeNetwork: NetworkWriter): ClientNamer {
  const name = new NameBuffer();
  return (client) => {
    const { bytes, start, end } = slot;
    if (isMissing(slot)) return false;
    let at = start;
    while (at < end && bytes[at] !== colon) at += 1;
    if (at === end) {
      setRange(client, bytes, start, end);
      return true;
    }
    name.clear();
    writeNetwork(bytes, start, end, name);
    name.lend(client);
    return true;
  };
}

function textNamer(slot: ByteRange): ClientNamer {
  return (client) => {
    if (isMissing(slot)) return false;
    setRange(client, slot.bytes, slot.start, slot.end);
    return true;
  };
}

type PartWriter = (part: NameBuffer, route: ByteRange) => boolean;

function partWriter(part: KeyPart, slots: Slots, writeNetwork: NetworkWriter): PartWriter {
  if (part.kind === 'all') {
    return (name) => {
      name.appendText('all');
      return true;
    };
  }
  if (part.kind === 'route') return (name, route) => appendRange(name, route);
  const slot = slots.get(part.field)!;
  if (part.kind === 'text') return (name) => appendRange(name, slot);
  const network = (name: NameBuffer, from: ByteRange, start: number) => {
    if (isMissing(from)) return false;
    writeNetwork(from.bytes, start, from.end, name);
    return true;
  };
  if (part.kind === 'address') return (name) => network(name, slot, slot.start);
  const address = part.address === undefined ? undefined : slots.get(part.address);
  return (name) => {
    if (!isMissing(slot)) return network(name, slot, lastEntry(slot));
    return address !== undefined && network(name, address, address.start);
  };
}

function appendRange(name: NameBuffer, range: ByteRange): boolean {
  if (isMissing(range)) return false;
  name.append(range.bytes, range.start, range.end);
  return true;
}

/** Where the last of `192.0.2.9, 10.0.0.7` begins. */
function lastEntry({ bytes, start, end }: ByteRange): number {
  let at = end;
  while (at > start && bytes[at - 1] !== comma) at -= 1;
  while (at < end && bytes[at] === blank) at += 1;
  return at;
}

/** So that no two lists of parts make the same name. */
function appendEscaped(name: NameBuffer, part: NameBuffer): void {
  for (let at = 0; at < part.length; at += 1) {
    const byte = part.bytes[at]!;
    if (byte === percent) name.appendText('%25');
    else if (byte === bar) name.appendText('%7C');
    else name.push(byte);
  }
}
