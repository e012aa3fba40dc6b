/** What was measured where something was claimed. */
import type { ExpectationResult } from '@sluice/simulator';

/** `gcra.allowed = 20` beside a claim about `gcra.allowed` says its name once too often: `measured 20`. */
export function measuredText({ claim, measured }: ExpectationResult): string {
  const [, name, value] = /^(\S+(?: (?:at|from) [^=]+)?) = ([^=]+)$/.exec(measured) ?? [];
  if (name !== undefined && claim.startsWith(name)) return `measured ${value}`;
  return /^\S+ = /.test(measured) ? `measured ${measured}` : measured;
}
