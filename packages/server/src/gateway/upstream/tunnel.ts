/**
 * After `101`: two connections as one, byte by byte.
 *
 *      client ◄──► tunnel ◄──► member        each side is read no faster than the other takes it; each may end its own direction,
 *                                            and when both have, or either is destroyed, or nothing passes for `idleMs`, it is over
 */
import type { Duplex } from 'node:stream';
import type { ConnectionUser, MemberConnection } from './member-connection.ts';
import type { MemberConnections } from './member-connections.ts';

export class Tunnel implements ConnectionUser {
  private readonly client: Duplex;
  private readonly connection: MemberConnection;
  private readonly connections: MemberConnections;
  private readonly over: () => void;
  private hasClientEnded = false;
  private hasMemberEnded = false;
  private isOver = false;

  constructor(client: Duplex, connection: MemberConnection, connections: MemberConnections, over: () => void) {
    this.client = client;
    this.connection = connection;
    this.connections = connections;
    this.over = over;
  }

  /** `rest` is what the member sent right behind its head. */
  start(rest: Buffer): void {
    const { client, connection } = this;
    connection.user = this;
    client.on('data', (bytes: Buffer) => this.clientBytes(bytes));
    client.on('drain', () => connection.resume());
    client.on('end', () => this.clientEnded());
    // 'close' follows.
    client.on('error', () => {});
    client.on('close', () => this.clientClosed());
    // The front hands it over paused.
    client.resume();
    if (rest.length > 0) this.bytes(rest);
    this.touch();
    if (client.destroyed) this.finish();
  }

  private touch(): void {
    this.connection.deadlineMs = this.connections.clock.now() + this.connections.settings.timeouts.idleMs;
  }

  // --- From the client ---

  private clientBytes(bytes: Buffer): void {
    if (this.isOver) return;
    this.touch();
    if (!this.connection.write(bytes)) this.client.pause();
  }

  private clientEnded(): void {
    if (this.isOver) return;
    this.hasClientEnded = true;
    this.connection.endWriting();
  }

  private clientClosed(): void {
    // What it sent last may still be on its way to the member, whose connection closes by itself after that.
    if (!this.hasClientEnded || !this.hasMemberEnded) this.finish();
  }

  // --- From the member ---

  bytes(bytes: Buffer): void {
    this.touch();
    // Copied: the connection's bytes are ours only until this returns.
    if (!this.client.write(Buffer.from(bytes))) this.connection.pause();
  }

  ended(): void {
    this.hasMemberEnded = true;
    this.client.end();
  }

  drained(): void {
    this.touch();
    this.client.resume();
  }

  closed(): void {
    this.finish();
  }

  writingFailed(): boolean {
    return false;
  }

  overdue(): void {
    this.client.destroy();
    this.finish();
  }

  // --- The end ---

  private finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.connection.destroy();
    // Ended both ways, it closes by itself when the client has read the last of it.
    if (!this.hasClientEnded || !this.hasMemberEnded) this.client.destroy();
    this.over();
  }
}
