// Shorter parts engines copy anyway.
const shortestView = 13;

/**
 * The same text, by itself. To engines a part of a longer text is a view of it: whoever keeps an address out of a header, or a name out of a form, keeps
 * all of the header or the form, which callers make as long as they like. Limits keep their keys.
 */
export function ownText(text: string): string {
  if (text.length < shortestView) return text;
  const copy = text.slice(0, 1) + text.slice(1);
  // Only once it is read is it put together, and lets go of what it is from.
  return copy.charCodeAt(1) === text.charCodeAt(1) ? copy : text;
}
