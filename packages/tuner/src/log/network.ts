/**
 * The network that an address is of, from bytes: IPv6 by subnet and IPv4 as it is, without ports. The same names as the keys that a rule
 * with `key: ip` counts by, so that what a log says of a client is what the rule will see.
 *
 *      2001:db8::1          2001:db8:0:0:0:0:0:0/56
 *      ::ffff:192.0.2.1     192.0.2.1
 *      192.0.2.1:5678       192.0.2.1
 *      [2001:db8::1]:443    2001:db8:0:0:0:0:0:0/56
 *      unix:, www.a.org     as they are
 */
import type { NameBuffer } from './name-buffer.ts';

const [colon, dot, percent, opening, closing] = [0x3a, 0x2e, 0x25, 0x5b, 0x5d];

/** Writes the network of the address into the buffer, behind what is there. */
export type NetworkWriter = (bytes: Uint8Array, start: number, end: number, name: NameBuffer) => void;

export function networkWriter(subnetBits: number): NetworkWriter {
  const groups = new Uint16Array(8);
  return (bytes, start, end, name) => {
    let from = start;
    let to = end;
    if (bytes[from] === opening) {
      const close = bytes.subarray(from, to).indexOf(closing);
      if (close > 0) {
        to = from + close;
        from += 1;
      }
    } else {
      to = withoutIpv4Port(bytes, from, to);
    }
    if (!readGroups(bytes, from, to, groups)) name.append(bytes, from, to);
    else if (isMappedIpv4(groups)) writeIpv4(groups, name);
    else writeSubnet(groups, subnetBits, name);
  };
}

/** Where the address ends: before the only colon, if there are dots before it. */
function withoutIpv4Port(bytes: Uint8Array, start: number, end: number): number {
  let colonAt = -1;
  let dots = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === colon) {
      if (colonAt >= 0) return end;
      colonAt = at;
    } else if (byte === dot && colonAt < 0) {
      dots += 1;
    } else if (byte! < 0x30 || byte! > 0x39) {
      return end;
    }
  }
  return colonAt >= 0 && dots === 3 && colonAt + 1 < end ? colonAt : end;
}

/** Reads the eight groups of an IPv6 address; false: this is none. */
function readGroups(bytes: Uint8Array, start: number, end: number, groups: Uint16Array): boolean {
  let to = end;
  for (let at = start; at < end; at += 1) if (bytes[at] === percent) to = at; // a zone is the machine's own matter
  let count = 0;
  let gapAt = -1;
  let at = start;
  if (bytes[at] === colon && bytes[at + 1] === colon && to - at >= 2) {
    gapAt = 0;
    at += 2;
  }
  while (at < to) {
    const groupEnd = hexEnd(bytes, at, to);
    if (bytes[groupEnd] === dot && groupEnd < to) {
      if (count > 6 || !readIpv4(bytes, at, to, groups, count)) return false;
      count += 2;
      break;
    }
    if (groupEnd === at || groupEnd - at > 4 || count === 8) return false;
    groups[count] = hexIn(bytes, at, groupEnd);
    count += 1;
    at = groupEnd;
    if (at === to) break;
    if (bytes[at] !== colon || at + 1 === to) return false;
    at += 1;
    if (bytes[at] === colon) {
      if (gapAt >= 0) return false;
      gapAt = count;
      at += 1;
    }
  }
  if (gapAt < 0) return count === 8;
  if (count >= 8) return false;
  // What stands behind the gap moves to the end.
  const behind = count - gapAt;
  groups.copyWithin(8 - behind, gapAt, count);
  groups.fill(0, gapAt, 8 - behind);
  return true;
}

function hexEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && hexDigit(bytes[at]!) >= 0) at += 1;
  return at;
}

function hexIn(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 16 + hexDigit(bytes[at]!);
  return value;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** `192.0.2.1` as two groups. */
function readIpv4(bytes: Uint8Array, start: number, end: number, groups: Uint16Array, place: number): boolean {
  let at = start;
  for (let part = 0; part < 4; part += 1) {
    let value = 0;
    const from = at;
    while (at < end && bytes[at]! >= 0x30 && bytes[at]! <= 0x39 && at - from < 4) {
      value = value * 10 + bytes[at]! - 0x30;
      at += 1;
    }
    const hasLeadingZero = at - from > 1 && bytes[from] === 0x30;
    if (at === from || value > 255 || hasLeadingZero) return false;
    const group = place + (part >> 1);
    groups[group] = part % 2 === 0 ? value << 8 : groups[group]! | value;
    if (part < 3) {
      if (at === end || bytes[at] !== dot) return false;
      at += 1;
    }
  }
  return at === end;
}

function isMappedIpv4(groups: Uint16Array): boolean {
  for (let i = 0; i < 5; i += 1) if (groups[i] !== 0) return false;
  return groups[5] === 0xffff;
}

function writeIpv4(groups: Uint16Array, name: NameBuffer): void {
  name.appendText(`${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.${groups[7]! & 255}`);
}

const hexDigits = '0123456789abcdef';

function writeSubnet(groups: Uint16Array, subnetBits: number, name: NameBuffer): void {
  for (let i = 0; i < 8; i += 1) {
    const bits = Math.min(16, Math.max(0, subnetBits - 16 * i));
    const group = groups[i]! & (0xffff << (16 - bits));
    if (i > 0) name.push(colon);
    for (let shift = group > 0xfff ? 12 : group > 0xff ? 8 : group > 0xf ? 4 : 0; shift >= 0; shift -= 4)
      name.push(hexDigits.charCodeAt((group >> shift) & 15));
  }
  name.appendText(`/${subnetBits}`);
}
