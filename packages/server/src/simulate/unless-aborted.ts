/** As the promise, unless it is still open so long after the signal: then it is left alone, and the reason of the signal is thrown. */
export async function unlessAborted<T>(
  waitedFor: Promise<T>,
  signal: AbortSignal | undefined,
  patienceMs = 0,
): Promise<T> {
  if (signal === undefined) return waitedFor;
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), patienceMs);
    };
  });
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([waitedFor, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearTimeout(timer);
  }
}
