/**
 * A transaction as etcd's JSON gateway has it: keys and values in base64, numbers of 64 bits as text.
 *
 *   compare   mod_revision of each key EQUAL
 *   success   the changes, then the readings         (etcd does them in this order, so the readings see the changes)
 *   failure   the readings
 *
 * What is absent in an answer is zero, false or empty: the gateway leaves those out.
 */
import { SluiceError } from 'sluice';
import type { Change, Comparison, EtcdRecord, Reading, Transaction, TransactionOutcome } from '../environment.ts';

/** What etcd takes in one list of a transaction, unless it is started with another `--max-txn-ops`. */
export const mostOperations = 128;

export interface AnswerHeader {
  readonly clusterId: string;
  readonly revision: number;
}

export interface ReadAnswer {
  readonly header: AnswerHeader;
  readonly outcome: TransactionOutcome;
}

/** Throws `invalid-option` for what etcd would refuse: then nothing is sent. */
export function gatewayRequest(transaction: Transaction): object {
  const { compare, change, read } = transaction;
  checkLength('compares', compare.length);
  checkLength('changes and reads', change.length + read.length);
  checkChangedOnce(change);
  const readings = isBare(transaction) ? [anyReading] : read.map(rangeOf);
  return { compare: compare.map(comparisonOf), success: [...change.map(changeOf), ...readings], failure: readings };
}

/** Throws a plain Error when that is no answer to the transaction. */
export function readAnswer(answer: unknown, transaction: Transaction): ReadAnswer {
  const { change, read } = transaction;
  const { header, succeeded = false, responses = [] } = answer as GatewayAnswer;
  const ranges = succeeded ? responses.slice(change.length) : responses;
  const expected = isBare(transaction) ? 1 : read.length;
  if (ranges.length !== expected) throw new Error(`it answered ${ranges.length} of ${expected} readings`);
  if (typeof header?.cluster_id !== 'string') throw new Error('its answer does not say of which cluster it is');
  const revision = wholeNumber(header.revision);
  return {
    header: { clusterId: header.cluster_id, revision },
    outcome: {
      succeeded,
      revision,
      found: ranges.slice(0, read.length).map(({ response_range }) => (response_range?.kvs ?? []).map(record)),
    },
  };
}

interface GatewayAnswer {
  readonly header?: { readonly cluster_id?: string; readonly revision?: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: { readonly kvs?: readonly GatewayRecord[] } }[];
}

interface GatewayRecord {
  readonly key: string;
  readonly value?: string;
  readonly create_revision: string;
  readonly mod_revision: string;
}

/**
 * Whether there is nothing to read or change. etcd then sees nothing that would have to be linearizable: a member that has lost its majority
 * answers from what it knows. One reading makes it ask the majority.
 */
function isBare({ change, read }: Transaction): boolean {
  return change.length === 0 && read.length === 0;
}

const anyReading = { request_range: { key: 'AA==', keys_only: true } };

function comparisonOf({ key, modRevision }: Comparison): object {
  return { key: keyOf(key), target: 'MOD', result: 'EQUAL', mod_revision: revisionText(modRevision) };
}

function changeOf(change: Change): object {
  if ('put' in change) return { request_put: { key: keyOf(change.put), value: base64(change.value) } };
  return { request_delete_range: { key: keyOf(change.delete) } };
}

function rangeOf({ key, isPrefix = false, sinceRevision = 0 }: Reading): object {
  // Without `serializable` etcd asks a majority before it answers: linearizable.
  const range = isPrefix ? prefixRange(key) : { key: keyOf(key) };
  return { request_range: { ...range, min_mod_revision: revisionText(sinceRevision) } };
}

/** All keys from the prefix up to, and without, the first that does not begin so. */
function prefixRange(prefix: string): object {
  // By etcd's own rule a zero byte at both ends means every key there is.
  if (prefix === '') return { key: 'AA==', range_end: 'AA==' };
  const end = Buffer.from(prefix);
  // No byte of UTF-8 is 255, so one more is always one byte.
  end[end.length - 1]! += 1;
  return { key: base64(prefix), range_end: end.toString('base64') };
}

function record({ key, value = '', create_revision, mod_revision }: GatewayRecord): EtcdRecord {
  return {
    key: fromBase64(key),
    value: fromBase64(value),
    createRevision: wholeNumber(create_revision),
    modRevision: wholeNumber(mod_revision),
  };
}

function checkLength(what: string, count: number): void {
  if (count <= mostOperations) return;
  throw new SluiceError(
    'invalid-option',
    `A transaction ${what} at most ${mostOperations} keys, this one ${count}. Make several of it.`,
  );
}

function checkChangedOnce(changes: readonly Change[]): void {
  const keys = new Set<string>();
  for (const change of changes) {
    const key = 'put' in change ? change.put : change.delete;
    if (keys.has(key)) {
      throw new SluiceError('invalid-option', `A transaction changes a key once, this one changes "${key}" twice.`);
    }
    keys.add(key);
  }
}

function keyOf(key: string): string {
  if (key === '') throw new SluiceError('invalid-option', 'A key of etcd must not be empty, got "".');
  return base64(key);
}

function revisionText(revision: number): string {
  if (Number.isSafeInteger(revision) && revision >= 0) return String(revision);
  throw new SluiceError('invalid-option', `A revision must be a whole number of at least 0, got ${revision}.`);
}

function wholeNumber(text: string | undefined): number {
  const number = Number(text);
  // Past 2 ** 53 two revisions could read the same.
  if (typeof text === 'string' && Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`its answer has ${text} for a revision`);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
