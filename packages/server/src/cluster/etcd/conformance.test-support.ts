/**
 * What a transaction means, as rows that every `Etcd` must pass: the real one over its gateway, and the simulator's model of it.
 *
 *   etcdConformance('etcd', async () => ({ etcd, close }))     registers the tests
 *
 * The etcd is opened once and must have no other writer. Each test has keys of its own.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd, EtcdRecord, Reading, Transaction, TransactionOutcome } from '../environment.ts';

export interface OpenedEtcd {
  readonly etcd: Etcd;
  close(): void | Promise<void>;
}

const timeoutMs = 20_000;

export function etcdConformance(name: string, open: () => Promise<OpenedEtcd>): void {
  describe(`${name}: a transaction`, () => {
    let opened: OpenedEtcd;
    let tests = 0;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    /** A place for the keys of one test. */
    const place = () => {
      tests += 1;
      return `/conformance/${tests}/`;
    };
    const transact = (part: Partial<Transaction>): Promise<TransactionOutcome> =>
      opened.etcd.transact({ compare: [], change: [], read: [], ...part }, timeoutMs);
    const put = async (key: string, value = '') => (await transact({ change: [{ put: key, value }] })).revision;
    const remove = async (key: string) => (await transact({ change: [{ delete: key }] })).revision;
    const revision = async () => (await transact({})).revision;
    const find = async (reading: Reading) => (await transact({ read: [reading] })).found[0]!;
    const get = async (key: string): Promise<EtcdRecord | undefined> => (await find({ key }))[0];

    test('reads what it has just written, at the revision that it made', async () => {
      const key = place();
      const before = await revision();
      const outcome = await transact({
        compare: [{ key, modRevision: 0 }],
        change: [{ put: key, value: 'new' }],
        read: [{ key }],
      });
      const made = before + 1;
      const record = { key, value: 'new', createRevision: made, modRevision: made };
      expect(outcome).toEqual({ succeeded: true, revision: made, found: [[record]] });
      expect(await get(key)).toEqual(record);
    });

    test('whose comparison fails changes nothing, and answers its readings all the same', async () => {
      const at = place();
      const made = await put(`${at}there`, 'old');
      const outcome = await transact({
        compare: [{ key: `${at}there`, modRevision: made - 1 }],
        change: [
          { put: `${at}there`, value: 'new' },
          { put: `${at}other`, value: 'new' },
        ],
        read: [{ key: at, isPrefix: true }],
      });
      const record = { key: `${at}there`, value: 'old', createRevision: made, modRevision: made };
      expect(outcome).toEqual({ succeeded: false, revision: made, found: [[record]] });
      expect(await find({ key: at, isPrefix: true })).toEqual([record]);
    });

    test('compares the revision at which a key last changed; 0 is one that is not there', async () => {
      const at = place();
      const created = await put(`${at}twice`);
      const changed = await put(`${at}twice`);
      await put(`${at}gone`);
      await remove(`${at}gone`);
      const rows: [key: string, modRevision: number, holds: boolean][] = [
        ['twice', changed, true],
        ['twice', created, false],
        ['twice', changed + 1, false],
        ['twice', 0, false],
        ['gone', 0, true],
        ['never', 0, true],
        ['never', 1, false],
      ];
      for (const [key, modRevision, holds] of rows) {
        const { succeeded } = await transact({ compare: [{ key: at + key, modRevision }] });
        expect([key, modRevision, succeeded]).toEqual([key, modRevision, holds]);
      }
    });

    test('happens only if every comparison holds', async () => {
      const at = place();
      const one = await put(`${at}one`);
      const two = await put(`${at}two`);
      const both = (first: number, second: number) =>
        transact({
          compare: [
            { key: `${at}one`, modRevision: first },
            { key: `${at}two`, modRevision: second },
          ],
          change: [{ put: `${at}result`, value: `${first} ${second}` }],
        });
      expect((await both(one, one)).succeeded).toBe(false);
      expect((await both(two, two)).succeeded).toBe(false);
      expect(await get(`${at}result`)).toBeUndefined();
      expect((await both(one, two)).succeeded).toBe(true);
      expect((await get(`${at}result`))?.value).toBe(`${one} ${two}`);
    });

    test('makes all its changes at one revision', async () => {
      const at = place();
      await put(`${at}old`);
      const before = await revision();
      const outcome = await transact({
        change: [{ put: `${at}a`, value: '1' }, { delete: `${at}old` }, { put: `${at}b`, value: '2' }],
        read: [{ key: at, isPrefix: true }],
      });
      expect(outcome.revision).toBe(before + 1);
      const at1 = { createRevision: before + 1, modRevision: before + 1 };
      expect(outcome.found).toEqual([
        [
          { key: `${at}a`, value: '1', ...at1 },
          { key: `${at}b`, value: '2', ...at1 },
        ],
      ]);
    });

    test('keeps the revision of a key’s creation until the key is deleted', async () => {
      const key = place();
      const created = await put(key, 'first');
      const changed = await put(key, 'second');
      expect(await get(key)).toEqual({ key, value: 'second', createRevision: created, modRevision: changed });
      await remove(key);
      expect(await get(key)).toBeUndefined();
      const again = await put(key, 'third');
      expect(await get(key)).toEqual({ key, value: 'third', createRevision: again, modRevision: again });
    });

    test('makes a revision even if it writes what was there', async () => {
      const key = place();
      const first = await put(key, 'same');
      expect(await put(key, 'same')).toBe(first + 1);
      expect((await get(key))?.modRevision).toBe(first + 1);
    });

    test('that deletes what is not there, or only reads, makes no revision', async () => {
      const key = place();
      const before = await revision();
      expect(await remove(key)).toBe(before);
      expect(await transact({ read: [{ key }] })).toEqual({ succeeded: true, revision: before, found: [[]] });
      expect(await transact({})).toEqual({ succeeded: true, revision: before, found: [] });
    });

    test('reads by prefix exactly the keys that begin so, in their order', async () => {
      const at = place();
      for (const key of ['b', 'a/2', 'a/', 'a0', 'a/10', 'a', 'a/ü', 'A/1']) await put(at + key);
      const keysOf = async (key: string) => (await find({ key: at + key, isPrefix: true })).map((record) => record.key);
      const rows: [prefix: string, keys: string[]][] = [
        ['a/', ['a/', 'a/10', 'a/2', 'a/ü']],
        ['a', ['a', 'a/', 'a/10', 'a/2', 'a/ü', 'a0']],
        ['a/ü', ['a/ü']],
        ['b', ['b']],
        ['c', []],
      ];
      for (const [prefix, keys] of rows) expect(await keysOf(prefix)).toEqual(keys.map((key) => at + key));
      expect((await find({ key: `${at}a` })).map(({ key }) => key)).toEqual([`${at}a`]);
    });

    test('reads with an empty prefix everything there is', async () => {
      const key = place();
      await put(key);
      const all = (await find({ key: '', isPrefix: true })).map((record) => record.key);
      expect(all).toContain(key);
      expect(await find({ key: '/', isPrefix: true })).toHaveLength(all.length);
    });

    test('reads what changed at a revision or later, and nothing of what was deleted', async () => {
      const at = place();
      await put(`${at}early`);
      await put(`${at}gone`);
      const since = await put(`${at}middle`);
      await put(`${at}late`);
      await remove(`${at}gone`);
      const keysOf = async (sinceRevision: number) =>
        (await find({ key: at, isPrefix: true, sinceRevision })).map(({ key }) => key.slice(at.length));
      expect(await keysOf(0)).toEqual(['early', 'late', 'middle']);
      expect(await keysOf(since)).toEqual(['late', 'middle']);
      expect(await keysOf(since + 1)).toEqual(['late']);
      expect(await keysOf((await revision()) + 1)).toEqual([]);
      expect(await find({ key: `${at}early`, sinceRevision: since })).toEqual([]);
      expect(await find({ key: `${at}middle`, sinceRevision: since })).toHaveLength(1);
    });

    test('answers each reading in its place', async () => {
      const at = place();
      await put(`${at}a`);
      await put(`${at}b`);
      const { found } = await transact({
        change: [{ put: `${at}c`, value: '' }],
        read: [{ key: `${at}b` }, { key: `${at}none` }, { key: at, isPrefix: true }, { key: `${at}b` }],
      });
      const keys = found.map((records) => records.map(({ key }) => key.slice(at.length)));
      expect(keys).toEqual([['b'], [], ['a', 'b', 'c'], ['b']]);
    });

    test('keeps every text as it is', async () => {
      const key = `${place()}ключ "☀" \\ \u0000 \n`;
      for (const value of ['', '{"a":"ü☀𝄞"}', '"\\\r\n\u0000\u007f', 'x'.repeat(200_000)]) {
        await put(key, value);
        const record = await get(key);
        expect(record?.key).toBe(key);
        expect(record?.value === value).toBe(true);
      }
    });

    test('that changes a key twice is refused, and changes nothing', async () => {
      const key = place();
      const before = await revision();
      const change = { put: key, value: '' };
      for (const second of [change, { delete: key }]) {
        await expect(transact({ change: [change, second] })).rejects.toMatchObject({ code: 'invalid-option' });
        await expect(transact({ change: [second, change] })).rejects.toMatchObject({ code: 'invalid-option' });
      }
      expect(await revision()).toBe(before);
    });

    test('with a key that is empty, or a revision that is none, is refused', async () => {
      const key = place();
      const rows: Partial<Transaction>[] = [
        { compare: [{ key: '', modRevision: 0 }] },
        { change: [{ put: '', value: '' }] },
        { change: [{ delete: '' }] },
        { read: [{ key: '' }] },
        { compare: [{ key, modRevision: -1 }] },
        { compare: [{ key, modRevision: 0.5 }] },
      ];
      for (const row of rows) await expect(transact(row)).rejects.toMatchObject({ code: 'invalid-option' });
    });

    test('has at most 128 comparisons, and 128 changes and readings', async () => {
      const at = place();
      const compare = (count: number) => Array.from({ length: count }, (_, n) => ({ key: at + n, modRevision: 0 }));
      const change = (count: number) => Array.from({ length: count }, (_, n) => ({ put: at + n, value: `${n}` }));
      const read = [{ key: at, isPrefix: true }];
      for (const tooLong of [{ compare: compare(129) }, { change: change(128), read }]) {
        await expect(transact(tooLong)).rejects.toMatchObject({ code: 'invalid-option' });
      }
      expect(await find(read[0]!)).toEqual([]);
      const { found } = await transact({ compare: compare(128), change: change(127), read });
      expect(found[0]).toHaveLength(127);
    });

    test('of many that compare the same revision, exactly one happens', async () => {
      const key = place();
      let current = await put(key, 'nobody');
      for (let round = 0; round < 10; round += 1) {
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            transact({ compare: [{ key, modRevision: current }], change: [{ put: key, value: `${round} ${n}` }] }),
          ),
        );
        const winners = outcomes.flatMap(({ succeeded }, n) => (succeeded ? [`${round} ${n}`] : []));
        const record = await get(key);
        expect(winners).toEqual([record?.value]);
        expect(record?.modRevision).toBe(current + 1);
        current = current + 1;
      }
    });

    test('does, in any order of any of them, what a list of records would', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
          const at = place();
          const records = listOfRecords(await revision());
          for (const next of steps) {
            const transaction = transactionOf(next, at, records.known);
            expect(await transact(transaction)).toEqual(records.transact(transaction));
          }
        }),
        { numRuns: 25 },
      );
    });
  });
}

interface Step {
  readonly compare: readonly { readonly key: string; readonly age: number }[];
  readonly change: readonly { readonly key: string; readonly value: string | null }[];
  readonly read: readonly { readonly key: string; readonly isPrefix: boolean; readonly age: number }[];
}

const someKey = fc.constantFrom('a', 'a/1', 'a/2', 'b');
/** How many revisions ago: most comparisons of a random number would fail. */
const someAge = fc.constantFrom(0, 0, 0, 1, 2, 5);

const step: fc.Arbitrary<Step> = fc.record({
  compare: fc.array(fc.record({ key: someKey, age: someAge }), { maxLength: 2 }),
  change: fc.uniqueArray(fc.record({ key: someKey, value: fc.option(fc.string({ maxLength: 3 })) }), {
    maxLength: 3,
    selector: ({ key }) => key,
  }),
  read: fc.array(fc.record({ key: someKey, isPrefix: fc.boolean(), age: someAge }), { maxLength: 3 }),
});

type Known = (key: string) => number;

function transactionOf({ compare, change, read }: Step, at: string, known: Known): Transaction {
  return {
    compare: compare.map(({ key, age }) => ({ key: at + key, modRevision: Math.max(0, known(at + key) - age) })),
    change: change.map(({ key, value }) => (value === null ? { delete: at + key } : { put: at + key, value })),
    read: read.map(({ key, isPrefix, age }) => {
      const sinceRevision = Math.max(0, known(at + key) - age);
      return { key: at + key, isPrefix, sinceRevision };
    }),
  };
}

/** The plainest thing that does it. */
function listOfRecords(start: number) {
  let records: EtcdRecord[] = [];
  let revision = start;
  const known: Known = (key) => records.find((record) => record.key === key)?.modRevision ?? 0;

  function change(changes: Transaction['change']): void {
    const next = revision + 1;
    for (const one of changes) {
      const key = 'put' in one ? one.put : one.delete;
      const before = records.find((record) => record.key === key);
      if (!before && 'delete' in one) continue;
      revision = next;
      records = records.filter((record) => record !== before);
      if ('put' in one) {
        records.push({ key, value: one.value, createRevision: before?.createRevision ?? next, modRevision: next });
      }
    }
    records.sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  function find({ key, isPrefix = false, sinceRevision = 0 }: Reading): EtcdRecord[] {
    return records
      .filter((record) => (isPrefix ? record.key.startsWith(key) : record.key === key))
      .filter(({ modRevision }) => modRevision >= sinceRevision);
  }

  return {
    known,
    transact(transaction: Transaction): TransactionOutcome {
      const succeeded = transaction.compare.every(({ key, modRevision }) => known(key) === modRevision);
      if (succeeded) change(transaction.change);
      return { succeeded, revision, found: transaction.read.map(find) };
    },
  };
}
