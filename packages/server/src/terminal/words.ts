/** Text in lines, and columns of text. */

/** Lines of at most `width` characters; a word that is longer than that is cut. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    let rest = word;
    if (line !== '' && line.length + 1 + rest.length > width) {
      lines.push(line);
      line = '';
    }
    while (rest.length > width) {
      lines.push(rest.slice(0, width));
      rest = rest.slice(width);
    }
    line = line === '' ? rest : `${line} ${rest}`;
  }
  return line === '' ? lines : [...lines, line];
}

/** From so many on, a word that is said again and again is said once: `yes ×40`. */
const fewestRepeated = 4;

export function withoutRuns(text: string): string {
  const words = text.split(' ');
  const told: string[] = [];
  for (let from = 0; from < words.length; ) {
    let to = from;
    while (to < words.length && words[to] === words[from]) to++;
    const run = words.slice(from, to);
    told.push(...(run.length < fewestRepeated ? run : [`${run[0]} ×${run.length}`]));
    from = to;
  }
  return told.join(' ');
}

export type Row = readonly string[];

/** Columns as wide as their widest cell: the first to the left, figures to the right. */
export function tableLines(rows: readonly Row[], gap = 2): string[] {
  const widths = widthsOf(rows);
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join(' '.repeat(gap))
      .trimEnd(),
  );
}

export function tableWidth(rows: readonly Row[], gap = 2): number {
  const widths = widthsOf(rows);
  return widths.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, widths.length - 1);
}

function widthsOf(rows: readonly Row[]): number[] {
  return (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
}

/** A long name loses its end. */
export function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}
