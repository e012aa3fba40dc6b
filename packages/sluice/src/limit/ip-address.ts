/** IP addresses as keys: IPv4 as it is, IPv6 by subnet, IPv4 written as IPv6 as IPv4. */
import { invalid } from '../vocabulary/errors.ts';

/** Refuses what is no length of a subnet. Shorter than 32 bits, and whole providers are one caller. */
export function checkSubnet(ipv6Subnet: number): void {
  if (!Number.isInteger(ipv6Subnet) || ipv6Subnet < 32 || ipv6Subnet > 128)
    throw invalid('ipv6Subnet', 'a whole number from 32 to 128', ipv6Subnet);
}

const dotted = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** The eight groups of an address, an IPv4 one as IPv6 has it; undefined when the text is no address. */
export function addressGroups(address: string): number[] | undefined {
  if (address.includes(':')) return ipv6Groups(address);
  const bytes = dotted.exec(address)?.slice(1).map(Number);
  if (bytes === undefined || bytes.some((byte) => byte > 255)) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  return [0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d];
}

const ipv6Text = /^([\da-f:.]+)(?:%.*)?$/i;

/** The eight groups of an IPv6 address, or undefined when the text is not one. */
function ipv6Groups(address: string): number[] | undefined {
  // A URL's host is the platform's own parser: it checks the address and writes it in one canonical way. What is no part of an address may be one
  // of a URL, and would end the host early.
  const [, withoutZone] = ipv6Text.exec(address) ?? [];
  const url = `http://[${withoutZone}]`;
  if (withoutZone === undefined || !URL.canParse(url)) return undefined;
  const [head = '', tail] = new URL(url).hostname.slice(1, -1).split('::');
  const groups = (part = '') => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const after = groups(tail);
  const before = groups(head);
  return [...before, ...Array(8 - before.length - after.length).fill(0), ...after];
}

// How Node writes the address of an IPv4 peer on a socket that takes both kinds.
const mapped = '::ffff:';

// What the same clients' addresses came to before, by the length of the subnet: to read one takes longer than to check a limit.
const known: Map<string, string>[] = [];
const mostKnown = 1000;
// No address is longer, with eight groups of which two are IPv4; but a zone may be.
const longestKnown = 45;

/**
 * The key of an address: IPv6 cut to its first `subnetBits` bits (`'2001:db8:0:100:0:0:0:0/56'`), anything else as it
 * came. Different spellings of one network give one key.
 */
export function networkOf(address: string, subnetBits: number): string {
  if (!address.includes(':')) return address;
  known[subnetBits] ??= new Map();
  const networks = known[subnetBits];
  const found = networks.get(address);
  if (found !== undefined) return found;
  const network = readNetwork(address, subnetBits);
  if (networks.size === mostKnown) networks.clear();
  if (address.length <= longestKnown) networks.set(address, network);
  return network;
}

function readNetwork(address: string, subnetBits: number): string {
  if (address.startsWith(mapped) && dotted.test(address.slice(mapped.length))) return address.slice(mapped.length);
  const groups = ipv6Groups(address);
  if (groups === undefined) return address;
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535')
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  const kept = groups.map((group, i) => {
    const bits = Math.min(16, Math.max(0, subnetBits - 16 * i));
    return (group & (0xffff << (16 - bits))).toString(16);
  });
  return `${kept.join(':')}/${subnetBits}`;
}
