/** An exchange in Redis: one stream for all instances, one script call per interval and instance. */
import { connectionOf, type RedisClient } from '../../stores/redis/connection.ts';
import { runScript } from '../../stores/redis/dispatcher.ts';
import { parts } from '../../stores/redis/lua.generated.ts';
import { sha1 } from '../../stores/redis/script.ts';
import { type Duration, parseDuration } from '../../vocabulary/duration.ts';
import { invalid, SluiceError } from '../../vocabulary/errors.ts';
import { aboveZero, knownFields } from '../../vocabulary/policy.ts';
import type { Exchange, PostedMessage } from './exchange.ts';

export interface RedisExchangeOptions {
  /** The caller's own client, as `redisStore` takes it. */
  readonly client: RedisClient;
  /** The key of the stream. All instances that share limits need the same. Default `'sluice:usage'`. */
  readonly key?: string;
  /** How long messages are kept. Default 1 minute. */
  readonly retain?: Duration;
  /** The most messages kept. Default 100,000. */
  readonly maxMessages?: number;
}

export function redisExchange(options: RedisExchangeOptions): Exchange {
  knownFields('redisExchange', options, 'client key retain maxMessages');
  const { client, key = 'sluice:usage', retain = '1m', maxMessages = 100_000 } = options;
  if (typeof key !== 'string' || key === '') throw invalid('key', 'the name of a key in Redis', key);
  const retainMs = Math.ceil(parseDuration(retain, 'retain'));
  aboveZero('maxMessages', maxMessages);
  const connection = connectionOf(client);
  const script = { source: parts.exchange, sha: sha1(parts.exchange) };

  return {
    async exchange({ instance, sequence, used }, cursor = '') {
      const message = JSON.stringify([instance, sequence, [...used]]);
      const limits = [String(retainMs), String(Math.ceil(maxMessages))];
      const reply = await runScript(connection, key, script, ['1', key, cursor, message, ...limits]);
      const [now, gap, messages, posted] = reply as [unknown, unknown, unknown, unknown];
      if (!Array.isArray(messages)) throw new SluiceError('store-unavailable', 'Redis did not answer with messages.');
      const [last] = messages.at(-1) as readonly [unknown];
      return {
        messages: messages.map((entry) => read(entry, Number(now))),
        cursor: `${String(last)} ${Number(posted)}`,
        hasGap: Number(gap) === 1,
      };
    },
  };
}

/** An entry of the stream: its id begins with the milliseconds of its posting. */
function read(entry: readonly [unknown, readonly unknown[]], nowMs: number): PostedMessage {
  const [id, fields] = entry;
  const [instance, sequence, used] = JSON.parse(String(fields[1])) as [string, number, [string, number][]];
  const postedMs = Number(String(id).split('-')[0]);
  return { instance, sequence, used: new Map(used), ageMs: Math.max(0, nowMs - postedMs) };
}
