/**
 * A file that lines are added to, together and later, so that nobody waits for the disk.
 *
 *      line ──► waiting, at most so many bytes ──► one write at a time ──► file
 *                   └──► dropped, counted              └──► fails: dropped, counted, told
 *
 * What the disk does not take is gone, and what comes next is tried again: a disk that is full fills neither the memory nor another log,
 * and keeps nobody from ending.
 */
import { closeSync, constants, openSync, write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

// Written when so much is there, or so much time has passed.
const togetherBytes = 8 * 1024;
const everyMs = 500;
const mostWaitingBytes = 8 * 1024 * 1024;

// A pipe whose reader is slow.
const againMs = 50;

const standardOutput = 1;
const newline = 0x0a;

const writeTo = promisify(write);

export class LineFile {
  /** Lines that were not written. */
  dropped = 0;
  /** `-`: standard output. */
  private readonly path: string;
  private readonly onError: (error: unknown) => void;
  private readonly longestCloseMs: number;
  private readonly timer: NodeJS.Timeout;
  private descriptor: number;
  /** Were reopened; a write may still go to one of them. */
  private replaced: number[] = [];
  private lines: string[] = [];
  private waitingBytes = 0;
  private work: Promise<void> | undefined;
  /** Only a part of the last line is in the file. */
  private isCut = false;
  private isClosed = false;
  private isGivenUp = false;

  /** Throws where the file cannot be opened. */
  constructor(path: string, onError: (error: unknown) => void, { longestCloseMs = 2000 } = {}) {
    this.path = path;
    this.onError = onError;
    this.longestCloseMs = longestCloseMs;
    this.descriptor = openToAppend(path);
    this.timer = setInterval(() => this.flush(), everyMs).unref();
  }

  /** With its end. ASCII, of which a character is a byte. */
  write(line: string): void {
    if (this.isClosed || this.waitingBytes + line.length > mostWaitingBytes) {
      this.dropped += 1;
      return;
    }
    this.lines.push(line);
    this.waitingBytes += line.length;
    if (this.waitingBytes >= togetherBytes) this.flush();
  }

  /** What comes from now on goes to whatever has the path now. Throws where that cannot be opened; then it goes on in the old file. */
  reopen(): void {
    if (this.isClosed || this.path === '-') return;
    const descriptor = openToAppend(this.path);
    this.replaced.push(this.descriptor);
    this.descriptor = descriptor;
    this.isCut = false;
    if (this.work === undefined) this.closeReplaced();
  }

  /** Writes what waits, as far as it can be written soon. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.timer);
    const { longestCloseMs } = this;
    const isInTime = await Promise.race([this.finish(), sleep(longestCloseMs, false, { ref: false })]);
    if (isInTime) return;
    this.isGivenUp = true;
    this.onError(new Error(`It did not take the last lines within ${longestCloseMs} ms.`));
  }

  private async finish(): Promise<true> {
    while (this.work !== undefined || this.lines.length > 0) {
      this.flush();
      await this.work;
    }
    if (this.descriptor !== standardOutput) this.replaced.push(this.descriptor);
    this.closeReplaced();
    return true;
  }

  private flush(): void {
    if (this.work !== undefined || this.lines.length === 0) return;
    const bytes = Buffer.from((this.isCut ? '\n' : '') + this.lines.join(''), 'latin1');
    this.lines = [];
    this.waitingBytes = 0;
    this.work = this.writeAll(this.descriptor, bytes).then(() => {
      this.work = undefined;
      this.closeReplaced();
      if (this.waitingBytes >= togetherBytes) this.flush();
    });
  }

  private async writeAll(descriptor: number, bytes: Buffer): Promise<void> {
    let at = 0;
    while (at < bytes.length) {
      try {
        at += (await writeTo(descriptor, bytes, at)).bytesWritten;
      } catch (error) {
        const isLater = (error as NodeJS.ErrnoException).code === 'EAGAIN' && !this.isGivenUp;
        if (!isLater) return this.lost(descriptor, bytes, at, error);
        await sleep(againMs, undefined, { ref: false });
      }
    }
    if (descriptor === this.descriptor) this.isCut = false;
  }

  private lost(descriptor: number, bytes: Buffer, from: number, error: unknown): void {
    if (from > 0 && descriptor === this.descriptor) this.isCut = bytes[from - 1] !== newline;
    for (let at = from; at < bytes.length; at += 1) if (bytes[at] === newline) this.dropped += 1;
    this.onError(error);
  }

  private closeReplaced(): void {
    for (const descriptor of this.replaced.splice(0)) closeSync(descriptor);
  }
}

function openToAppend(path: string): number {
  if (path === '-') return standardOutput;
  const { O_APPEND, O_CREAT, O_WRONLY, O_NONBLOCK } = constants;
  // A pipe that nobody reads must not stop everybody; to files it means nothing.
  return openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NONBLOCK, 0o666);
}
