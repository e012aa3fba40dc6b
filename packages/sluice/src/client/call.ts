/**
 * One batch on its way to one owner. It is settled once: by an answer that came in time, or by doubt. It may be sent again, with the
 * same id, while its time is not up; the time counts from the first sending, whatever happens after.
 */
import type { Check } from '../stores/store.ts';
import type { Decision } from '../vocabulary/decision.ts';
import type { SluiceError } from '../vocabulary/errors.ts';
import { applyFrame, isAscii } from './frame.ts';
import { type Question, unavailable } from './node-connection.ts';
import { ErrorReply, type Reply } from './reply-reader.ts';
import { decisionsOfReply } from './wire.ts';

/** When a batch was sent first; NaN: not yet. The parts of one that went to several owners share it. */
export interface Departure {
  firstSentMs: number;
}

/** What a call asks of the store that sent it. */
export interface Sender {
  readonly deadlineMs: number;
  /** By the clock that ages are counted by. */
  now(): number;
  /** By the clock that the checks' own times are by. */
  timeOfChecks(): number;
  /** It was sent for the first time: its time runs. */
  departed(call: Call): void;
  /** To whoever owns its keys now. */
  sendAgain(call: Call): void;
  /** The slot belongs to that node. */
  moved(slot: number, address: string, call: Call): void;
  /** A node cannot be sure whether it still owns what it was asked for. */
  doubted(address: string): void;
  /** Its time was up before it was answered. */
  expired(): void;
  /** An answer that nobody may use any more. */
  late(decisions: readonly Decision[], checks: readonly Check[]): void;
}

// Each time the map or the connection has changed; a cluster that sends a call round in a circle is no help.
const mostTries = 5;

export class Call implements Question {
  readonly checks: readonly Check[];
  readonly requestId: string;
  /** Whether the id is the caller's, who may send the batch again. */
  readonly isRepeatable: boolean;
  readonly frame: string;
  readonly isAscii: boolean;
  readonly departure: Departure;
  /** Which node it went to last. */
  address = '';
  isSettled = false;
  tries = 0;
  private readonly sender: Sender;
  private readonly resolve: (decisions: Decision[]) => void;
  private readonly reject: (error: SluiceError) => void;

  constructor(
    sender: Sender,
    checks: readonly Check[],
    requestId: string,
    isRepeatable: boolean,
    departure: Departure,
    resolve: (decisions: Decision[]) => void,
    reject: (error: SluiceError) => void,
  ) {
    this.sender = sender;
    this.checks = checks;
    this.requestId = requestId;
    this.isRepeatable = isRepeatable;
    this.departure = departure;
    this.resolve = resolve;
    this.reject = reject;
    this.frame = applyFrame(requestId, checks, sender.timeOfChecks);
    this.isAscii = isAscii(this.frame);
  }

  /** Whether an answer may still be used: strict is judged where a grant is used, and owners reckon with no later use. */
  isInTime(nowMs: number): boolean {
    const { firstSentMs } = this.departure;
    return Number.isNaN(firstSentMs) || nowMs - firstSentMs <= this.sender.deadlineMs;
  }

  sent(nowMs: number): void {
    const { departure } = this;
    if (Number.isNaN(departure.firstSentMs)) departure.firstSentMs = nowMs;
    this.tries += 1;
    if (this.tries === 1) this.sender.departed(this);
  }

  answered(reply: Reply): void {
    if (reply instanceof ErrorReply) this.answeredError(reply.text);
    else this.decided(reply);
  }

  private decided(reply: Reply): void {
    let decisions: Decision[];
    try {
      decisions = decisionsOfReply(this.checks, reply);
    } catch (error) {
      this.fail(error as SluiceError);
      return;
    }
    // At this very moment, not when the bytes arrived: whatever was done in between counts too.
    if (!this.isSettled && this.isInTime(this.sender.now())) {
      this.isSettled = true;
      this.resolve(decisions);
    } else {
      this.sender.late(decisions, this.checks);
      this.expire();
    }
  }

  private answeredError(text: string): void {
    const [code, slot, address] = text.split(' ', 3);
    if (code === 'MOVED' && address !== undefined) {
      this.sender.moved(Number(slot), address, this);
      return;
    }
    if (code === 'UNAVAILABLE' || code === 'CLUSTERDOWN') this.sender.doubted(this.address);
    this.fail(unavailable(`${this.address} answered: ${text.slice(0, 200)}`));
  }

  lost(error: SluiceError): void {
    this.tryAgain(error);
  }

  unsent(error: SluiceError): void {
    this.fail(error);
  }

  /** The same again where it may help; else it is in doubt. */
  tryAgain(error: SluiceError): void {
    if (this.isSettled) return;
    if (this.tries >= mostTries) this.fail(error);
    else if (this.isInTime(this.sender.now())) this.sender.sendAgain(this);
    else this.expire();
  }

  /** Its time is up. */
  expire(): void {
    if (this.isSettled) return;
    this.sender.expired();
    this.fail(unavailable(`${this.address} did not answer within ${this.sender.deadlineMs} ms.`));
  }

  fail(error: SluiceError): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.reject(error);
  }

  /** By somebody who has taken it over. */
  succeed(decisions: Decision[]): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.resolve(decisions);
  }
}
