/** The schema as the text of `sluice.schema.json`, laid out as the formatter of this repository does. */

const widestLine = 120;

export function schemaFile(schema: object): string {
  return `${laidOut(schema, '', 0)}\n`;
}

/** `before` is how far the line is filled already, where the value begins. */
function laidOut(value: unknown, indent: string, before: number): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const line = JSON.stringify(value).replaceAll(',', ', ');
    if (!line.includes('{') && before + line.length + 1 <= widestLine) return line;
    return `[\n${value.map((item) => inner + laidOut(item, inner, inner.length)).join(',\n')}\n${indent}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => {
    const head = `${inner}${JSON.stringify(name)}: `;
    return head + laidOut(field, inner, head.length);
  });
  return `{\n${fields.join(',\n')}\n${indent}}`;
}
