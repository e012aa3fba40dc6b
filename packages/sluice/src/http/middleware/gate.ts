/**
 * What stands between a request and its handler, whatever the framework: the framework says how its requests are read, and does with the
 * passage what it has to: writes the headers, answers or goes on, and says how the response ended.
 *
 *      request ──► skip? ──► who, how much ──► check, or reserve ──► passage ──► refused: status, headers, problem body
 *                                                                       └─────► let in: headers, a delay, `end` when it is over
 *
 * Where nothing has to be waited for, nothing is: over a memory store the passage is there at once.
 */
import type { RulesResult } from '../../limit/rules.ts';
import { type Answer, andThen } from '../../vocabulary/answer.ts';
import { type Clock, checkClock, monotonicClock } from '../../vocabulary/clock.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { checkCost, knownFields, oneOf } from '../../vocabulary/policy.ts';
import { type ProblemBody, problemBody, problemTitles, problemTypes, statusOf } from '../problem-body.ts';
import { problemText } from '../problem-text.ts';
import {
  checkHeaderOptions,
  headersOf,
  type RateLimitHeaderOptions,
  type RateLimitHeaders,
} from '../rate-limit-headers.ts';
import { addressReader } from './address.ts';
import { type Asked, defaultName, isShared, limitsOf, notAnswered } from './limits.ts';
import { countedBy, isNameTaken } from './names.ts';
import { type Outcome, optionFields, type RateLimitOptions, type Refused } from './options.ts';
import { identityOf, type RequestReader } from './request-reader.ts';
import { speaker } from './several.ts';
import { countsAlone, type Mistake, warnings, warnOfError, whenItFails } from './warnings.ts';

/** The answer to one request. */
export interface Passage<Response> {
  readonly result: RulesResult;
  readonly headers: RateLimitHeaders;
  /** Set when it was refused. */
  readonly refused: Refused | undefined;
  /** How long to hold the request back before it goes on. */
  readonly delayMs: number;
  /** To be told how the response ended, whatever happened to it; absent where nobody needs to know. Said again it does nothing. */
  readonly end: ((outcome: Outcome<Response>) => void) | undefined;
}

export interface Gate<Request, Response> {
  /** `undefined` for a request that is not limited. */
  enter(request: Request): Answer<Passage<Response> | undefined>;
  /** The clock that requests are held back by. */
  readonly clock: Clock;
  /** Where errors go that the framework cannot be told of. */
  report(error: unknown): void;
}

/**
 * @param ownFunctions options that only this framework has; they are functions, or left out
 * @param warnTogether of mistakes, where several gates are one middleware and tell of each once
 */
export function gate<Request, Response>(
  options: RateLimitOptions<Request, Response, unknown>,
  reader: RequestReader<Request>,
  ownFunctions: readonly string[] = [],
  warnTogether?: (mistake: Mistake) => void,
): Gate<Request, Response> {
  mustBeOptions(options, ownFunctions);
  const { skip, cost = 1, costAfter, onResult, store, clock = store?.clock ?? monotonicClock } = options;
  const report = reporting(options.onError);
  checkClock(clock);
  const headerOptions = headerOptionsOf(options.headers);
  const speak = speaker(headerOptions.dialect?.length !== 0);
  const warn = warnTogether ?? warnings(options.warn);
  const address = addressReader(options, reader, warn);
  const ask = limitsOf(options, reader, address);
  if (!isShared(options.rules) && countsAlone(store)) warn('memory-in-cluster');
  const { policy, name = defaultName } = options;
  if (store && typeof policy === 'object' && isNameTaken(store, name, policy)) warn('name-taken');
  // Rules have names of their own; the same ones on two routers are two limits.
  const counted = countedBy(policy === undefined ? undefined : store, name);
  const watch = watchForTwice(reader, counted, () => warn('mounted-twice'));

  function passage(request: Request, { result, settle }: Asked, taken: number): Passage<Response> {
    try {
      whenItFails(onResult?.(request, result), report);
    } catch (error) {
      // The request ends here, and nobody else could give back the place that it has.
      if (result.allowed) Promise.resolve(settle?.(undefined)).catch(report);
      throw error;
    }
    if (result === notAnswered.result)
      return { result, headers: notNow.headers, refused: notNow, delayMs: 0, end: undefined };
    const said = speak(identityOf(request, reader), result, taken);
    const headers = headersOf(said, headerOptions);
    if (result.allowed) {
      return { result, headers, refused: undefined, delayMs: delayOf(result), end: settle && ending(request, settle) };
    }
    const refused: Refused = new Refusal(result, said, headers);
    return { result, headers, refused, delayMs: 0, end: undefined };
  }

  function ending(request: Request, settle: NonNullable<Asked['settle']>): (outcome: Outcome<Response>) => void {
    let hasEnded = false;
    return (outcome) => {
      if (hasEnded) return;
      hasEnded = true;
      // The response is out, and only the operator can still be told.
      settleBy(request, outcome, settle).catch(report);
    };
  }

  async function settleBy(
    request: Request,
    outcome: Outcome<Response>,
    settle: NonNullable<Asked['settle']>,
  ): Promise<void> {
    let actual: number | undefined;
    try {
      actual = costAfter && checkCost(await costAfter(request, outcome));
    } finally {
      // Where the true cost is not known, what was reserved stays spent; but places are given back.
      await settle(actual);
    }
  }

  function admit(request: Request): Answer<Passage<Response>> {
    watch(request);
    const amount = typeof cost === 'function' ? cost(request) : cost;
    if (typeof amount === 'number') return admitFor(request, amount);
    return andThen(address.whileHere(request, amount), (known) => admitFor(request, checkCost(known)));
  }

  function admitFor(request: Request, taken: number): Answer<Passage<Response>> {
    const asked = ask(request, taken);
    if (!(asked instanceof Promise)) return passage(request, asked, taken);
    return asked.then(
      (known) => passage(request, known, taken),
      (error) => passage(request, whereStoreFailed(error), taken),
    );
  }

  return {
    clock,
    report,
    enter(request) {
      if (skip === undefined) return admit(request);
      return andThen(address.whileHere(request, skip(request)), (isSkipped) =>
        isSkipped ? undefined : admit(request),
      );
    },
  };
}

/** What a refusal says; the body is written only when somebody reads it. */
class Refusal implements Refused {
  readonly result: RulesResult;
  readonly headers: RateLimitHeaders;
  private readonly said: RulesResult;

  /** @param said what the headers say: of all limits that the request came by */
  constructor(result: RulesResult, said: RulesResult, headers: RateLimitHeaders) {
    this.result = result;
    this.said = said;
    this.headers = headers;
  }

  get status(): 429 | 503 {
    return statusOf(this.said) as 429 | 503;
  }

  get problem(): ProblemBody {
    return problemBody(this.said);
  }

  /** The problem as JSON. */
  get text(): string {
    return problemText(this.said);
  }
}

/** The problem of a refusal as JSON, to be sent as `application/problem+json`. */
export function refusalText(refused: Refused): string {
  return refused instanceof Refusal ? refused.text : JSON.stringify(refused.problem);
}

/** For rules that were made elsewhere, over a store that nothing stands in for when it fails. */
const notNow: Refused = {
  result: notAnswered.result,
  status: 503,
  headers: { 'Retry-After': '1' },
  problem: {
    type: problemTypes[503],
    title: problemTitles[503],
    status: 503,
    detail: 'The limits cannot be checked at the moment. Try again in 1 s.',
    'violated-policies': [],
  },
};

function whereStoreFailed(error: unknown): Asked {
  if ((error as Partial<SluiceError>)?.code === 'store-unavailable') return notAnswered;
  throw error;
}

/** The longest of the delays that rules ask for. */
function delayOf({ decisions }: RulesResult): number {
  let longestMs = 0;
  for (const { delayMs, shadow } of decisions) if (delayMs > longestMs && !shadow) longestMs = delayMs;
  return longestMs;
}

// Mounted twice is seen with the first requests, or never.
const watchedRequests = 1000;

/** Notices a request that comes by again. */
function watchForTwice<Request>(
  reader: RequestReader<Request>,
  seen: WeakSet<object>,
  tell: () => void,
): (request: Request) => void {
  let left = watchedRequests;
  return (request) => {
    if (left === 0) return;
    left -= 1;
    const identity = identityOf(request, reader);
    if (seen.has(identity)) tell();
    seen.add(identity);
  };
}

/** Tells of errors. One that is thrown by who is told must not end the process: any caller may be able to bring that about. */
function reporting(onError: (error: unknown) => void = warnOfError): (error: unknown) => void {
  return (error) => {
    try {
      whenItFails(onError(error), warnOfError);
    } catch (own) {
      warnOfError(own);
    }
  };
}

/** What was said of headers, as they are written by. */
function headerOptionsOf(said: RateLimitOptions<never, never, unknown>['headers']): RateLimitHeaderOptions {
  if (said === undefined) return {};
  const isMore = typeof said === 'object' && !Array.isArray(said);
  if (isMore) knownFields('headers', said, 'dialect reset');
  const options = (isMore ? { ...said } : { dialect: said === false ? [] : said }) as RateLimitHeaderOptions;
  checkHeaderOptions(options, isMore ? 'dialect' : 'headers');
  return options;
}

const functions = ['key', 'subject', 'skip', 'costAfter', 'handler', 'onResult', 'onError'];

function mustBeOptions(options: RateLimitOptions<never, never, unknown>, ownFunctions: readonly string[]): void {
  knownFields('rateLimit options', options, [optionFields, ...ownFunctions].join(' '));
  const { policy, rules, cost = 1 } = options;
  if ((policy === undefined) === (rules === undefined)) {
    throw new SluiceError(
      'invalid-option',
      `rateLimit needs a policy or rules, ${policy ? 'not both' : 'and got neither'}: rateLimit({ policy: gcra({ limit: 100, window: '1m' }) }).`,
    );
  }
  if (rules !== undefined && ('key' in options || 'name' in options)) {
    throw invalid('key and name', 'left out beside rules', options.key ?? options.name, 'Each rule has its own.');
  }
  if (policy !== undefined && 'subject' in options)
    throw invalid('subject', 'left out beside a policy', options.subject, 'A policy has a key.');
  for (const field of [...functions, ...ownFunctions]) {
    const given = (options as unknown as Record<string, unknown>)[field];
    if (given !== undefined && typeof given !== 'function') throw invalid(field, 'a function', given);
  }
  if (typeof cost !== 'function') checkCost(cost);
  oneOf('shadow', options.shadow, [true, false]);
  const { warn } = options;
  if (warn !== undefined && warn !== false && typeof warn !== 'function')
    throw invalid('warn', 'a function, or false', warn);
}
