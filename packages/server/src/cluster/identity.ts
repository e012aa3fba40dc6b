/** One text for a name and a key, such that no other pair has the same. */
export function identityOf({ name, key }: { readonly name: string; readonly key: string }): string {
  return `${name.length} ${name}${key}`;
}
