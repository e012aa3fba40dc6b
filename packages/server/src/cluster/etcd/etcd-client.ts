/**
 * etcd, by its JSON gateway: every talk is one transaction, sent once.
 *
 *   transact ──► the member that answered last ──► outcome
 *                  │ refused the connection: the next one, at once
 *                  │ anything else:          an error, because nobody knows; the next *call* goes to the next one
 *
 * Sending a transaction again could make it happen twice, or hide that the first has happened. Only whoever wrote its comparisons knows what
 * that would mean, so only the caller repeats.
 */
import { SluiceError } from 'sluice';
import { occasionalLog } from '../../operations/occasional-log.ts';
import type { Etcd, NodeLog, Transaction, TransactionOutcome } from '../environment.ts';
import { gatewayRequest, type ReadAnswer, readAnswer } from './gateway-form.ts';
import { type EtcdTls, type Gateway, GatewayFailure, gateway } from './gateway-request.ts';
import { history } from './history.ts';
import { isStaleToken, type Login, login } from './login.ts';

export interface EtcdClientOptions {
  /** Of its members, e.g. `http://10.0.0.1:2379`. The first is asked first. */
  readonly endpoints: readonly string[];
  /** With `password`. Default: no login. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** For endpoints with `https:`. */
  readonly tls?: EtcdTls | undefined;
  readonly log: NodeLog;
}

export interface EtcdClient extends Etcd {
  /**
   * Rejects with `store-unavailable` when it is not known whether the transaction happened, or certain that it did not; with `store-unsafe`
   * when etcd has gone back, and then for good; with `invalid-option` for a transaction that etcd would refuse.
   */
  transact(transaction: Transaction, timeoutMs: number): Promise<TransactionOutcome>;
  /** Ends what is under way, with an error. */
  close(): void;
}

export function etcdClient(options: EtcdClientOptions): EtcdClient {
  const endpoints = options.endpoints.map(endpointOf);
  if (endpoints.length === 0) throw new SluiceError('invalid-option', 'endpoints must name a member of etcd, got [].');
  const { log, tls } = options;
  // An answer that is none comes with every question.
  const seldom = occasionalLog(log);
  const talk = gateway(tls);
  const loggedIn = loginOf(options, talk);
  const past = history();
  const underWay = new Set<AbortController>();
  let isClosed = false;
  let current = 0;
  let lastAnswering = 0;
  let whyLeft = '';

  /** Calls that failed together leave a member once. */
  function leave(index: number, why: string): void {
    if (current !== index) return;
    current = (index + 1) % endpoints.length;
    whyLeft = why;
  }

  /** Said when another one answers, not at each failure: while all are away there is nothing to choose. */
  function stay(index: number): void {
    if (index === lastAnswering) return;
    const fields = { endpoint: endpoints[index], before: endpoints[lastAnswering], why: whyLeft };
    lastAnswering = index;
    log.info(fields, 'asks another member of etcd from now on');
  }

  async function send(endpoint: string, body: object, signal: AbortSignal): Promise<unknown> {
    const question = { endpoint, path: '/v3/kv/txn', body, signal };
    if (!loggedIn) return talk.ask(question);
    const token = await loggedIn.token(endpoint, signal);
    try {
      return await talk.ask({ ...question, token });
    } catch (failure) {
      if (!isStaleToken(failure)) throw failure;
      loggedIn.forget(token);
      return talk.ask({ ...question, token: await loggedIn.token(endpoint, signal) });
    }
  }

  /** One member after another until one can be reached. */
  async function reach(body: object, signal: AbortSignal): Promise<{ answer: unknown; index: number }> {
    for (let left = endpoints.length - 1; ; left -= 1) {
      const index = current;
      try {
        const answer = await send(endpoints[index]!, body, signal);
        stay(index);
        return { answer, index };
      } catch (error) {
        const failure = error as GatewayFailure;
        if (!failure.isRefusal) leave(index, failure.message);
        const mayTryNext = failure.isUndone && !failure.isRefusal && left > 0 && !signal.aborted;
        if (!mayTryNext) throw unavailable(endpoints[index]!, failure);
      }
    }
  }

  async function within(signal: AbortSignal, transaction: Transaction): Promise<TransactionOutcome> {
    const body = gatewayRequest(transaction);
    const floor = past.floor();
    const { answer, index } = await reach(body, signal);
    try {
      const { header, outcome } = readAnswerOf(endpoints[index]!, answer, transaction);
      past.accept(header, { floor, isChange: transaction.change.length > 0 });
      return outcome;
    } catch (error) {
      const { message } = error as SluiceError;
      leave(index, message);
      seldom.error({ endpoint: endpoints[index] }, message);
      throw error;
    }
  }

  return {
    async transact(transaction, timeoutMs) {
      if (isClosed) throw new SluiceError('store-unavailable', 'This client of etcd is closed. Open another.');
      const ending = new AbortController();
      const timer = setTimeout(() => ending.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      underWay.add(ending);
      try {
        return await within(ending.signal, transaction);
      } finally {
        clearTimeout(timer);
        underWay.delete(ending);
      }
    },
    close() {
      isClosed = true;
      for (const ending of underWay) ending.abort(new Error('the client was closed'));
      talk.close();
    },
  };
}

function loginOf({ username, password }: EtcdClientOptions, talk: Gateway): Login | undefined {
  if (username === undefined && password === undefined) return undefined;
  if (username && password !== undefined) return login(talk, { username, password });
  throw new SluiceError('invalid-option', 'username and password must be given both, or neither.');
}

function endpointOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.pathname === '/' && url.search === '' && url.hash === '';
  if (isPlain && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url.origin;
  // Not what it got: there may be a password in it.
  throw new SluiceError(
    'invalid-option',
    'endpoints must be addresses such as http://10.0.0.1:2379. A user and a password have options of their own.',
  );
}

function readAnswerOf(endpoint: string, answer: unknown, transaction: Transaction): ReadAnswer {
  try {
    return readAnswer(answer, transaction);
  } catch (cause) {
    throw unavailable(endpoint, new GatewayFailure((cause as Error).message, { isUndone: false, cause }));
  }
}

function unavailable(endpoint: string, failure: GatewayFailure): SluiceError {
  const after = failure.isUndone ? 'The transaction did not happen.' : 'Whether the transaction happened is not known.';
  return new SluiceError('store-unavailable', `etcd at ${endpoint}: ${failure.message}. ${after}`, { cause: failure });
}
