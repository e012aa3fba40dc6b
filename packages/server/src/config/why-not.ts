/** Why a file cannot be had, without the name of the call that found out. */
export function whyNot(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'it does not exist.';
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not read it.';
  if (code === 'EISDIR') return 'it is a folder.';
  if (code === 'ENOTDIR') return 'a part of its path is not a folder.';
  return `${message}.`;
}
