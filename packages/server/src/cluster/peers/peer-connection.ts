/**
 * One connection to one node, from its opening to its end. It is never mended: when it breaks, everything on it fails, and the next question
 * opens another. So nothing is ever sent twice.
 *
 *      opening ──► open ──► ended
 *         └──────────┴────► retired: asks nothing new, and ends when what is under way has its answer or is out of time
 */
import type { ConnectionOptions } from 'node:tls';
import type { Redis } from 'ioredis';
import { SluiceError } from 'sluice';
import { loadIoredis } from '../../service/load-ioredis.ts';
import type { WrittenMessage } from './peer-text.ts';

export interface PeerConnectionOptions {
  /** `host:port`; IPv6 in brackets. */
  readonly address: string;
  readonly token: string | undefined;
  readonly tls: ConnectionOptions | undefined;
  /** It takes no more questions; with an error: it could not be opened. Called once. */
  onRetired(error: Error | undefined): void;
}

// How long a node may take to let us in.
const openingMs = 2000;
// A node that vanished without a word is noticed by the kernel's probes.
const keepAliveMs = 10_000;

export class PeerConnection {
  /** Questions without an answer. */
  underWay = 0;
  /** When a question was last asked or answered. */
  usedMs = performance.now();
  private readonly options: PeerConnectionOptions;
  private readonly opening: Promise<Redis>;
  private client: Redis | undefined;
  private isOpen = false;
  private isRetired = false;
  private isCorked = false;
  private heardMs = 0;
  private problem: Error | undefined;

  constructor(options: PeerConnectionOptions) {
    this.options = options;
    this.opening = this.open();
    // Everybody who asks awaits it; without questions nobody does.
    this.opening.catch((error: Error) => this.retire(error));
  }

  /** Rejects when no answer came within `timeoutMs`. A question that could not be sent until then is not sent later. */
  ask({ text, bytes }: WrittenMessage, timeoutMs: number): Promise<string> {
    this.underWay += 1;
    this.usedMs = performance.now();
    return new Promise<string>((resolve, reject) => {
      let sentMs: number | undefined;
      let isOver = false;
      const end = () => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        this.settled();
      };
      const timer = setTimeout(() => {
        // Not a word since then: it may be gone. Others must not wait for the same.
        if (sentMs !== undefined && this.heardMs < sentMs) this.retire(undefined);
        reject(new SluiceError('store-unavailable', `${this.options.address} did not answer within ${timeoutMs} ms`));
        end();
      }, timeoutMs);
      const send = async (client: Redis) => {
        if (isOver) return;
        sentMs = performance.now();
        this.cork(client);
        const asked = bytes === undefined ? [text] : [text, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)];
        resolve((await client.call('SLUICE.PEER', ...asked)) as string);
        this.heardMs = performance.now();
        end();
      };
      const fail = (error: Error) => {
        if (error.name === 'ReplyError') this.heardMs = performance.now();
        reject(this.failure(error));
        end();
      };
      // Once it is open, at once: a deadline of a few milliseconds is not spent waiting for a turn.
      (this.isOpen ? send(this.client!) : this.opening.then(send)).catch(fail);
    });
  }

  /** Takes no more questions, and ends when those under way are settled. */
  retire(error: Error | undefined): void {
    if (this.isRetired) return;
    this.isRetired = true;
    this.options.onRetired(error);
    if (this.underWay === 0) this.end();
  }

  /** At once: everything under way fails. */
  end(): void {
    this.isRetired = true;
    this.client?.disconnect();
  }

  private settled(): void {
    this.underWay -= 1;
    this.usedMs = performance.now();
    if (this.isRetired && this.underWay === 0) this.end();
  }

  private async open(): Promise<Redis> {
    const { Redis } = await loadIoredis();
    const { address, token, tls } = this.options;
    const colon = address.lastIndexOf(':');
    const client = new Redis({
      host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
      port: Number(address.slice(colon + 1)),
      ...(token !== undefined && { password: token }),
      ...(tls && { tls }),
      lazyConnect: true,
      retryStrategy: () => null,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      disableClientInfo: true,
      connectionName: 'sluice-peer',
      connectTimeout: openingMs,
      keepAlive: keepAliveMs,
    });
    this.client = client;
    client.on('error', (error: Error) => {
      this.problem = withoutCommand(error);
    });
    // Nodes close what is idle; one that is gone is noticed by whoever opens the next.
    client.on('end', () => this.retire(this.isOpen ? undefined : (this.problem ?? new Error('the connection ended'))));
    // The client's own limit ends with the handshake of TCP or TLS; the node must also say hello.
    const timer = setTimeout(() => {
      this.problem = new Error(`the node did not let us in within ${openingMs} ms`);
      client.disconnect();
    }, openingMs);
    try {
      if (this.isRetired) throw new Error('the connection was closed');
      await client.connect();
    } catch (error) {
      throw this.problem ?? withoutCommand(error as Error);
    } finally {
      clearTimeout(timer);
    }
    // Only a connection that nobody waits for is given up while it opens.
    if (this.isRetired) client.disconnect();
    this.isOpen = true;
    return client;
  }

  /** What is asked within one turn of the event loop leaves in one write. */
  private cork({ stream }: Redis): void {
    if (this.isCorked) return;
    this.isCorked = true;
    stream.cork();
    process.nextTick(() => {
      this.isCorked = false;
      stream.uncork();
    });
  }

  private failure(error: Error): SluiceError {
    const cause = this.problem ?? withoutCommand(error);
    return new SluiceError('store-unavailable', `${this.options.address} cannot be asked: ${cause.message}`, { cause });
  }
}

/** What a node says is an error to the client library, and holds the whole command: a message of megabytes, or the token. */
function withoutCommand(error: Error): Error {
  return 'command' in error ? new Error(error.message) : error;
}
