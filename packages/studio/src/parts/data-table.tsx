/** Rows of names and numbers; scrolls by itself where the screen is narrow. */
import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

interface DataTableProps<Row> {
  /** What the rows are, for those who cannot see where the table stands. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Said instead of an empty table. */
  readonly whenEmpty: string;
}

export function DataTable<Row>({ caption, columns, rows, keyOf, whenEmpty }: DataTableProps<Row>) {
  if (rows.length === 0) return <p class="quiet">{whenEmpty}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class="data-table" tabIndex={0} aria-label={caption}>
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, isNumber, cell }) => (
                <td key={title} class={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
