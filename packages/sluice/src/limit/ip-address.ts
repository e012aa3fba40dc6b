/** IP addresses as keys: IPv4 as it is, IPv6 by subnet, IPv4 written as IPv6 as IPv4. */

/** The eight groups of an IPv6 address, or undefined when the text is not one. */
function ipv6Groups(address: string): number[] | undefined {
  // A URL's host is the platform's own parser: it checks the address and writes it in one canonical way.
  const url = `http://[${address.replace(/%.*$/, '')}]`;
  if (!address.includes(':') || !URL.canParse(url)) return undefined;
  const [head = '', tail] = new URL(url).hostname.slice(1, -1).split('::');
  const groups = (part = '') => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const after = groups(tail);
  const before = groups(head);
  return [...before, ...Array(8 - before.length - after.length).fill(0), ...after];
}

/**
 * The key of an address: IPv6 cut to its first `subnetBits` bits (`'2001:db8:0:100:0:0:0:0/56'`), anything else as it
 * came. Different spellings of one network give one key.
 */
export function networkOf(address: string, subnetBits: number): string {
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
