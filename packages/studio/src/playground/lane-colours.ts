/** The theme's colours for what is drawn: a canvas knows no stylesheet. */
export interface LaneColours {
  readonly allowed: string;
  readonly delayed: string;
  readonly refused: string;
  readonly level: string;
  readonly line: string;
  readonly ink: string;
  readonly quiet: string;
  readonly surface: string;
  readonly font: string;
}

export function laneColours(): LaneColours {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    allowed: token('--allowed'),
    delayed: token('--delayed'),
    refused: token('--refused'),
    level: token('--level'),
    line: token('--line'),
    ink: token('--ink'),
    quiet: token('--ink-quiet'),
    surface: token('--surface'),
    font: token('--font'),
  };
}

/** Calls back whenever the colours are others than before. */
export function whenColoursChange(changed: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  addEventListener('themechange', changed);
  system.addEventListener('change', changed);
  return () => {
    removeEventListener('themechange', changed);
    system.removeEventListener('change', changed);
  };
}
