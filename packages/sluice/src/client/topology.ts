/**
 * The nodes that are known, a connection to each, and who owns what. The map is asked for when there is none, when a node says MOVED,
 * when a connection is lost, when a slot has no owner and when a node is not sure; in the background, and not more often than every so many
 * milliseconds.
 */
import type { Clock } from '../vocabulary/clock.ts';
import { SluiceError } from '../vocabulary/errors.ts';
import { frameOf } from './frame.ts';
import { type ConnectionSettings, endpointOf, NodeConnection, unavailable } from './node-connection.ts';
import { ErrorReply, type Reply } from './reply-reader.ts';
import { SlotMap, slotRanges } from './slot-map.ts';

const refreshPauseMs = 100;
// Where no node is sure, as without etcd, nobody knows more by asking more often.
const doubtPauseMs = 1000;

export class Topology {
  readonly map = new SlotMap();
  /** How often the map was asked for and told. */
  refreshes = 0;
  private readonly nodes = new Map<string, NodeConnection>();
  /** Those that could not be sure of what they own, since the map was told last: what they say of the others may be as old. */
  private readonly doubted = new Set<string>();
  private readonly seeds: readonly string[];
  private readonly settings: ConnectionSettings;
  private readonly maxConnections: number;
  private readonly clock: Clock;
  private readonly closing = new AbortController();
  private lastBegunMs = Number.NEGATIVE_INFINITY;
  private running: Promise<void> | undefined;
  private isScheduled = false;
  private problem: SluiceError | undefined;

  constructor(seeds: readonly string[], settings: ConnectionSettings, maxConnections: number, clock: Clock) {
    this.seeds = seeds;
    this.settings = settings;
    this.maxConnections = maxConnections;
    this.clock = clock;
  }

  get connections(): number {
    let ready = 0;
    for (const { isReady } of this.nodes.values()) if (isReady) ready += 1;
    return ready;
  }

  get pending(): number {
    let pending = 0;
    for (const node of this.nodes.values()) pending += node.pending;
    return pending;
  }

  /** When some connection is to be looked after. */
  dueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const node of this.nodes.values()) dueMs = Math.min(dueMs, node.dueMs);
    return dueMs;
  }

  sweep(nowMs: number): void {
    for (const node of this.nodes.values()) node.sweep(nowMs);
  }

  nodeAt(address: string): NodeConnection {
    const known = this.nodes.get(address);
    if (known) return known;
    if (this.nodes.size >= this.maxConnections) this.closeUnused();
    if (this.nodes.size >= this.maxConnections) {
      throw unavailable(
        `There are ${this.nodes.size} nodes already (maxConnections), and ${address} would be another.`,
      );
    }
    const { port } = endpointOf(address);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw unavailable(`There is no node at ${address}.`);
    const node = new NodeConnection(address, this.settings);
    this.nodes.set(address, node);
    return node;
  }

  /** Resolves when there is a map, rejects when nobody has one. */
  ready(): Promise<void> {
    if (!this.map.isEmpty) return Promise.resolve();
    if (this.running === undefined && this.clock.now() - this.lastBegunMs < refreshPauseMs && this.problem) {
      return Promise.reject(this.problem);
    }
    return this.refresh();
  }

  /** Asks for the map, soon. */
  refreshSoon(): void {
    if (this.isScheduled || this.running !== undefined || this.closing.signal.aborted) return;
    const pauseMs = this.lastBegunMs + refreshPauseMs - this.clock.now();
    if (pauseMs <= 0) {
      this.refreshUnasked();
      return;
    }
    this.isScheduled = true;
    this.clock.sleep(pauseMs, this.closing.signal).then(
      () => {
        this.isScheduled = false;
        this.refreshUnasked();
      },
      (error: unknown) => {
        if (!this.closing.signal.aborted) throw error;
      },
    );
  }

  /** A node is not sure whether it is an owner still. If it is none, nobody may have told it: others are asked who is. */
  doubt(address: string): void {
    this.doubted.add(address);
    if (this.clock.now() - this.lastBegunMs >= doubtPauseMs) this.refreshSoon();
  }

  /** Nobody waits for it: what went wrong is told to those who ask about a slot without an owner. */
  private refreshUnasked(): void {
    this.refresh().catch((error: unknown) => {
      if (!(error instanceof SluiceError)) throw error;
    });
  }

  private refresh(): Promise<void> {
    this.lastBegunMs = this.clock.now();
    this.running ??= this.askAll().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Those that are connected first, then all others that are known, then the seeds; of all of them, those that are in doubt last. */
  private async askAll(): Promise<void> {
    const known = [...this.nodes.values()].sort((a, b) => Number(b.isReady) - Number(a.isReady));
    const addresses = new Set([...known.map(({ address }) => address), ...this.seeds]);
    const isDoubted = (address: string) => Number(this.doubted.has(address));
    for (const address of [...addresses].sort((a, b) => isDoubted(a) - isDoubted(b))) {
      if (this.closing.signal.aborted) break;
      try {
        const reply = await this.ask(this.nodeAt(address), ['CLUSTER', 'SLOTS']);
        this.map.replace(slotRanges(reply, endpointOf(address).host), (owner) => this.nodeAt(owner));
        this.refreshes += 1;
        this.doubted.clear();
        this.problem = undefined;
        this.closeUnused();
        return;
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error;
        this.problem = error;
      }
    }
    throw this.problem ?? unavailable('The client of the cluster was closed.');
  }

  private ask(node: NodeConnection, args: readonly string[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      node.send({
        frame: frameOf(args),
        isAscii: false,
        isSettled: false,
        sent: () => this.settings.onConnecting(node),
        answered(reply) {
          if (reply instanceof ErrorReply) reject(unavailable(`${node.address} answered: ${reply.text}`));
          else resolve(reply);
        },
        lost: reject,
        unsent: reject,
      });
    });
  }

  /** Nodes that own nothing any more, and of which nothing is expected. */
  private closeUnused(): void {
    for (const [address, node] of this.nodes) {
      if (node.pending > 0 || this.map.isOwner(node)) continue;
      this.nodes.delete(address);
      node.close();
    }
  }

  close(): void {
    this.closing.abort();
    for (const node of this.nodes.values()) node.close();
  }
}
