/**
 * Where instances tell each other what they used: one round trip per interval and instance, whatever the number of keys.
 *
 *      A ──► posts "A 17: alice 3, bob 1" ──┐
 *      B ──► posts "B 9: alice 2" ──────────┤  a line of messages, each told once to everybody
 *      C ──► posts "C 4: nothing" ──────────┘
 *
 * An exchange keeps a line of messages for a while. It need not understand them: it neither adds up nor looks for repetitions.
 */

export interface UsageMessage {
  /** One life of one instance. Nobody else ever has the same. */
  readonly instance: string;
  /**
   * 1, 2, 3, ... within one instance, without a gap. An instance that does not know whether a message was posted posts it again,
   * with the same number and the same content; whoever reads it twice counts it once. The next one is posted only after that.
   */
  readonly sequence: number;
  /** What the instance used of each key since its message before: numbers above 0. Empty when nothing was used. */
  readonly used: ReadonlyMap<string, number>;
}

export interface PostedMessage extends UsageMessage {
  /** How long ago it was posted, by the exchange's own clock, when the reply was made. Rounded down. */
  readonly ageMs: number;
}

export interface ExchangeReply {
  /** Everything posted after the cursor, oldest first. The instance's own messages may be among them, or not. */
  readonly messages: readonly PostedMessage[];
  /** Given to the next call: where this reply ended. Text of the exchange's own. */
  readonly cursor: string;
  /** True when messages after the cursor are gone: some counts will never be known here. */
  readonly hasGap: boolean;
}

export interface Exchange {
  /**
   * Posts the message, then answers what was posted after `cursor`; without a cursor, everything that is still kept. Both in one
   * round trip. Rejects when it failed; the message may have been posted all the same.
   *
   * Messages are kept for at least as long as the longest outage that should not lose counts, and no fewer than a few seconds.
   */
  exchange(message: UsageMessage, cursor: string | undefined): Promise<ExchangeReply>;
}
