/**
 * A change that the address does not say yet when somebody leaves: kept for as long as the tab lives, for whoever comes back to that address.
 *
 * To write it into the address would be too late then: behind a link or a step back the address is the next view's already, and a reload has
 * begun with the old one.
 */
const storedAs = 'sluice-playground-unwritten';

/** Two queries. */
interface Unwritten {
  /** What the address says. */
  readonly said: string;
  /** What it would say. */
  readonly shown: string;
}

export function keepUnwritten(unwritten: Unwritten): void {
  try {
    sessionStorage.setItem(storedAs, JSON.stringify(unwritten));
  } catch {
    // Storage is forbidden here: the last change is lost, and nothing else.
  }
}

export function dropUnwritten(): void {
  try {
    sessionStorage.removeItem(storedAs);
  } catch {
    // As above.
  }
}

/** What is to be shown at an address instead of what it says. Once: after that, whoever enters the address means what it says. */
export function takeUnwritten(said: string): string | undefined {
  try {
    const kept: Unwritten | null = JSON.parse(sessionStorage.getItem(storedAs) ?? 'null');
    dropUnwritten();
    return kept?.said === said ? kept.shown : undefined;
  } catch {
    return undefined; // As above.
  }
}
