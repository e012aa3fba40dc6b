/** What happened, in order: one number that two equal histories share, and lines to read when one goes wrong. */

interface Entry {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
  readonly fields: object | undefined;
}

export class Trace {
  readonly #entries: Entry[] = [];
  #hash = 0x811c9dc5;

  get size(): number {
    return this.#entries.length;
  }

  /** FNV-1a over all that was added. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  add(atMs: number, who: string, what: string, fields?: object): void {
    this.#entries.push({ atMs, who, what, fields });
    this.#mix(`${atMs}${who}${what}`);
  }

  /** The lines from one moment to another; what does not fit is left out of the middle. */
  between(fromMs: number, toMs: number, most: number): string[] {
    const lines = this.#entries.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs).map(lineOf);
    if (lines.length <= most) return lines;
    const half = Math.floor(most / 2);
    return [...lines.slice(0, half), `   ... ${lines.length - 2 * half} more ...`, ...lines.slice(-half)];
  }

  #mix(text: string): void {
    let hash = this.#hash;
    for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    this.#hash = hash;
  }
}

function lineOf({ atMs, who, what, fields }: Entry): string {
  const more = fields === undefined ? '' : ` ${JSON.stringify(fields)}`;
  return `${atMs.toFixed(3).padStart(10)}  ${who.padEnd(8)} ${what}${more}`;
}
