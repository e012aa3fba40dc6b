/** What measuring leaves elsewhere is removed when it is done, when it fails, and when this process is told to end meanwhile. */

type Remove = () => Promise<void>;

const pending = new Set<Remove>();

export async function removingAfterwards<T>(remove: Remove, measure: () => Promise<T>): Promise<T> {
  pending.add(remove);
  try {
    return await measure();
  } finally {
    // Whoever ends the process has begun with it.
    if (pending.delete(remove)) await remove();
  }
}

/** Before the process ends. */
export async function removeLeftovers(): Promise<void> {
  const removals = [...pending];
  pending.clear();
  await Promise.allSettled(removals.map((remove) => remove()));
}
