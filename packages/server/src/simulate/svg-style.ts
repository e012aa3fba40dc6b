/** Colours and letters of an SVG, light and dark. No script and no font from elsewhere: the file is all there is. */

// Told apart by lightness too, by those who do not see red and green as two colours.
const light = {
  page: '#ffffff',
  ink: '#1c2127',
  faint: '#5b6672',
  grid: '#dde2e7',
  arrived: '#4a78b5',
  allowed: '#2f9e77',
  delayed: '#e5ab2c',
  refused: '#c93a3f',
  level: '#4a78b5',
};

const dark: typeof light = {
  page: '#14181d',
  ink: '#e8ecf0',
  faint: '#9aa6b2',
  grid: '#2c343d',
  arrived: '#7ba6dd',
  allowed: '#45b98e',
  delayed: '#f0c254',
  refused: '#ef6a63',
  level: '#7ba6dd',
};

function fills(colours: typeof light): string {
  const { page, ink, faint, grid, ...kinds } = colours;
  return [
    `.sluice-page{fill:${page}}`,
    `.sluice text{fill:${ink}}`,
    `.sluice .sluice-faint{fill:${faint}}`,
    `.sluice-grid{stroke:${grid}}`,
    `.sluice-axis{stroke:${faint}}`,
    ...Object.entries(kinds).map(([kind, colour]) => `.sluice .sluice-${kind}{fill:${colour}}`),
  ].join('');
}

export const style = [
  ".sluice{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:12px}",
  '.sluice-title{font-size:20px;font-weight:600}',
  '.sluice-name{font-size:14px;font-weight:600}',
  '.sluice-small{font-size:11px}',
  '.sluice-figures{font-variant-numeric:tabular-nums}',
  '.sluice-grid,.sluice-axis{stroke-width:1;shape-rendering:crispEdges}',
  fills(light),
  `@media (prefers-color-scheme:dark){${fills(dark)}}`,
].join('\n');
