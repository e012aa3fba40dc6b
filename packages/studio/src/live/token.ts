/** The token for this service: for as long as the tab is open, and nowhere but in the browser's memory of it. */
const storedAs = 'sluice-token';

export function storedToken(): string | undefined {
  try {
    const token = sessionStorage.getItem(storedAs);
    return token === null || tokenProblem(token) !== undefined ? undefined : token;
  } catch {
    return undefined; // Storage is forbidden here: the token lasts as long as the page.
  }
}

export function storeToken(token: string | undefined): void {
  try {
    if (token === undefined) sessionStorage.removeItem(storedAs);
    else sessionStorage.setItem(storedAs, token);
  } catch {
    // As above: it has to be given again after a reload.
  }
}

/** Why no service could be given this token, before it is tried: the browser does not send it at all, which looks like a service that is gone. */
export function tokenProblem(token: string): string | undefined {
  const place = [...token].findIndex((character) => !/^[\x20-\x7e\xa0-\xff]$/.test(character));
  if (place === -1) return undefined;
  const code = [...token][place]!.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  return `Token must have only characters that a header can carry, got U+${code} as character ${place + 1}. Copy it again from where it was written.`;
}
