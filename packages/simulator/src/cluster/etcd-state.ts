/**
 * What etcd holds, and what a transaction does to it: revisions as etcd counts them, all earlier versions included, so that a member that
 * lags behind can be played too.
 */
import type { Change, EtcdRecord, Reading, Transaction, TransactionOutcome } from 'sluice-server/cluster';

/** A key from a revision on; without a record it is gone. */
interface Version {
  readonly revision: number;
  readonly record: EtcdRecord | undefined;
}

export class EtcdState {
  /** Of an etcd that holds nothing it is 1. */
  revision = 1;
  readonly #versions = new Map<string, Version[]>();

  commit({ compare, change, read }: Transaction): TransactionOutcome {
    const succeeded = compare.every(({ key, modRevision }) => (this.#get(key)?.modRevision ?? 0) === modRevision);
    if (succeeded && change.length > 0) this.#make(change);
    return { succeeded, revision: this.revision, found: read.map((reading) => this.#find(reading, this.revision)) };
  }

  /** As a member answers that has not heard of anything after that revision. Such a member cannot change anything. */
  readAt(revision: number, { compare, read }: Transaction): TransactionOutcome {
    const succeeded = compare.every((each) => (this.#get(each.key, revision)?.modRevision ?? 0) === each.modRevision);
    return { succeeded, revision, found: read.map((reading) => this.#find(reading, revision)) };
  }

  #make(change: Transaction['change']): void {
    const revision = this.revision + 1;
    for (const each of change) {
      const key = keyOf(each);
      const before = this.#get(key);
      // Deleting what is not there changes nothing, and takes no revision.
      if (!('put' in each) && !before) continue;
      const versions = this.#versions.get(key) ?? [];
      this.#versions.set(key, versions);
      const createRevision = before?.createRevision ?? revision;
      const record = 'put' in each ? { key, value: each.value, createRevision, modRevision: revision } : undefined;
      versions.push({ revision, record });
      this.revision = revision;
    }
  }

  #get(key: string, revision = this.revision): EtcdRecord | undefined {
    const versions = this.#versions.get(key) ?? [];
    let last = versions.length - 1;
    while (last >= 0 && versions[last]!.revision > revision) last -= 1;
    return versions[last]?.record;
  }

  #find({ key, isPrefix = false, sinceRevision = 0 }: Reading, revision: number): EtcdRecord[] {
    const keys = isPrefix ? [...this.#versions.keys()].filter((each) => each.startsWith(key)).sort() : [key];
    return keys
      .map((each) => this.#get(each, revision))
      .filter((record): record is EtcdRecord => record !== undefined && record.modRevision >= sinceRevision);
  }
}

// The most comparisons, and the most changes and readings, of one transaction, as etcd has it unless it is told otherwise.
const mostOperations = 128;

/** What etcd would say to a transaction that is none; undefined: nothing. */
export function problemOf({ compare, change, read }: Transaction): string | undefined {
  const changed = change.map(keyOf);
  if (new Set(changed).size < changed.length) return 'duplicate key given in txn request';
  if (compare.length > mostOperations || change.length + read.length > mostOperations)
    return 'too many operations in txn request';
  const isKeyless = ({ key, isPrefix = false }: Reading) => key === '' && !isPrefix;
  if (changed.includes('') || compare.some(({ key }) => key === '') || read.some(isKeyless))
    return 'key is not provided';
  const isRevision = (revision: number) => Number.isSafeInteger(revision) && revision >= 0;
  if (!compare.every(({ modRevision }) => isRevision(modRevision))) return 'a revision must be a whole number';
  return undefined;
}

function keyOf(change: Change): string {
  return 'put' in change ? change.put : change.delete;
}
