/** JSON of a line as JSON.parse has it: for what the byte scanner leaves alone, and for a look at the first lines. */

export type JsonObject = Readonly<Record<string, unknown>>;

// nginx without `escape=json` writes a quote as `\x22`, which JSON does not know.
const nginxEscape = /\\(?:x([0-9a-fA-F]{2})|.)/g;

/** Undefined: this is no object. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  const value = parsed(text) ?? (text.includes('\\x') ? parsed(withoutNginxEscapes(text)) : undefined);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function withoutNginxEscapes(text: string): string {
  return text.replace(nginxEscape, (whole, hex: string | undefined) => (hex === undefined ? whole : `\\u00${hex}`));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // That it is none is the answer: the caller counts the line and shows it.
    return undefined;
  }
}

// Logs have tens of fields. A line that has thousands is not asked for all of them.
const mostFields = 500;
const deepest = 6;

/** All texts and numbers of an object by their dotted paths. */
export function flatFields(value: JsonObject): Map<string, string> {
  const fields = new Map<string, string>();
  const walk = (object: JsonObject, prefix: string, depth: number): void => {
    for (const [key, inner] of Object.entries(object)) {
      if (fields.size >= mostFields) return;
      if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
        if (depth < deepest) walk(inner as JsonObject, `${prefix}${key}.`, depth + 1);
      } else {
        fields.set(prefix + key, textOf(inner));
      }
    }
  };
  walk(value, '', 1);
  return fields;
}

/** The text of a field: of a list (the lines of a header) the first. Nothing where there is none. */
export function textOf(value: unknown): string {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  return typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean' ? String(one) : '';
}

/** The field at a dotted path; a name that has dots itself is found as well. */
export function fieldAt(object: JsonObject, path: string): unknown {
  if (Object.hasOwn(object, path)) return object[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = Object.hasOwn(object, path.slice(0, dot)) ? object[path.slice(0, dot)] : undefined;
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue;
    const found = fieldAt(inner as JsonObject, path.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}
