import type { ScenarioResult } from '@sluice/simulator';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resultSvg } from './result-svg.ts';
import { breakerResult, someResult } from './some-results.test-support.ts';
import { escaped, stepArea } from './svg.ts';

/** All that is drawn or said; colours and letters are looked at by eye. */
const drawn = (result: ScenarioResult) => `\n${resultSvg(result).replace(/<style>.*?<\/style>\n/s, '')}`;

test('a picture has a panel for each state and queue, and is named for those who hear it', () => {
  expect(drawn(breakerResult)).toMatchInlineSnapshot(`
    "
    <svg xmlns="http://www.w3.org/2000/svg" class="sluice" viewBox="0 0 960 403" width="960" height="403" role="img" aria-labelledby="sluice-title sluice-description">
    <title id="sluice-title">A breaker &lt;opens&gt; &amp; closes</title>
    <desc id="sluice-description">The upstream fails for a while. circuit &quot;breaker&quot;: opened 1.</desc>
    <rect class="sluice-page" width="960" height="403"/>
    <g transform="translate(24 24)">
    <text x="0" y="18" class="sluice-title">A breaker &lt;opens&gt; &amp; closes</text>
    <text x="0" y="40">The upstream fails for a while.</text>
    <text x="0" y="58" class="sluice-faint">10 s simulated, 10 arrivals, seed 1</text>
    </g>
    <g transform="translate(24 106)">
    <rect class="sluice-allowed" x="0" y="1" width="12" height="12" rx="2"/>
    <text x="17" y="11">closed</text>
    <rect class="sluice-delayed" x="71.2" y="1" width="12" height="12" rx="2"/>
    <text x="88.2" y="11">half-open</text>
    <rect class="sluice-refused" x="162.5" y="1" width="12" height="12" rx="2"/>
    <text x="179.5" y="11">open</text>
    </g>
    <g transform="translate(24 138)">
    <g transform="translate(0 0)">
    <path class="sluice-grid" d="M55 28V146"/>
    <text x="55" y="159" class="sluice-faint sluice-small" text-anchor="middle">0 s</text>
    <path class="sluice-grid" d="M139.2 28V146"/>
    <text x="139.2" y="159" class="sluice-faint sluice-small" text-anchor="middle">1 s</text>
    <path class="sluice-grid" d="M223.4 28V146"/>
    <text x="223.4" y="159" class="sluice-faint sluice-small" text-anchor="middle">2 s</text>
    <path class="sluice-grid" d="M307.6 28V146"/>
    <text x="307.6" y="159" class="sluice-faint sluice-small" text-anchor="middle">3 s</text>
    <path class="sluice-grid" d="M391.8 28V146"/>
    <text x="391.8" y="159" class="sluice-faint sluice-small" text-anchor="middle">4 s</text>
    <path class="sluice-grid" d="M476 28V146"/>
    <text x="476" y="159" class="sluice-faint sluice-small" text-anchor="middle">5 s</text>
    <path class="sluice-grid" d="M560.2 28V146"/>
    <text x="560.2" y="159" class="sluice-faint sluice-small" text-anchor="middle">6 s</text>
    <path class="sluice-grid" d="M644.4 28V146"/>
    <text x="644.4" y="159" class="sluice-faint sluice-small" text-anchor="middle">7 s</text>
    <path class="sluice-grid" d="M728.6 28V146"/>
    <text x="728.6" y="159" class="sluice-faint sluice-small" text-anchor="middle">8 s</text>
    <path class="sluice-grid" d="M812.8 28V146"/>
    <text x="812.8" y="159" class="sluice-faint sluice-small" text-anchor="middle">9 s</text>
    <path class="sluice-grid" d="M897 28V146"/>
    <text x="897" y="159" class="sluice-faint sluice-small" text-anchor="middle">10 s</text>
    <text x="55" y="16" class="sluice-name">circuit &quot;breaker&quot;</text>
    <path class="sluice-grid" d="M55 28H897"/>
    <path class="sluice-axis" d="M55 118H897"/>
    <text x="49" y="116" class="sluice-faint sluice-small" text-anchor="end">waiting</text>
    <text x="901" y="36" class="sluice-faint sluice-small">8</text>
    <path class="sluice-level" d="M0 90L84.2 90L84.2 78.8L168.4 78.8L168.4 67.5L252.6 67.5L252.6 45L336.8 45L336.8 0L505.2 0L505.2 45L589.4 45L589.4 67.5L673.6 67.5L673.6 78.8L757.8 78.8L757.8 90L842 90L842 90L0 90Z" transform="translate(55 28)"/>
    <text x="49" y="139" class="sluice-faint sluice-small" text-anchor="end">state</text>
    <rect class="sluice-allowed" x="55" y="128" width="168.4" height="14"/>
    <rect class="sluice-refused" x="223.4" y="128" width="252.6" height="14"/>
    <rect class="sluice-delayed" x="476" y="128" width="84.2" height="14"/>
    <rect class="sluice-allowed" x="560.2" y="128" width="336.8" height="14"/>
    <text x="55" y="178" class="sluice-small sluice-faint">A A B A C A A</text>
    </g>
    </g>
    <g transform="translate(24 337)">
    <path class="sluice-grid" d="M0 21H174"/>
    <text x="0" y="14" class="sluice-faint">variant</text>
    <text x="174.2" y="14" class="sluice-faint" text-anchor="end">opened</text>
    <text x="0" y="38" class="sluice-figures">circuit &quot;breaker&quot;</text>
    <text x="174.2" y="38" class="sluice-figures" text-anchor="end">1</text>
    </g>
    </svg>
    "
  `);
});

test('panels share their scales, so that the same height means the same number', () => {
  const svg = resultSvg(someResult);
  const labels = [...svg.matchAll(/text-anchor="end">([^<]*)</g)].map(([, label]) => label);
  expect(labels.slice(0, 3)).toEqual(['0', '30', '60']);
  expect(labels.filter((label) => label === '60')).toHaveLength(2);
});

test('the measures stand below as a table, and what does not hold is marked', () => {
  const svg = resultSvg(someResult);
  for (const words of ['refused share', '1.25 s', '50 %', 'First refusal at 9 s']) expect(svg).toContain(words);
  expect(svg).toMatch(/class="sluice-refused">✗<.*fixed-window.worstWindow &lt;= 40 · measured 80/s);
});

test('a file stands alone: no script, nothing from elsewhere, light and dark', () => {
  const svg = resultSvg(someResult);
  expect(svg).not.toMatch(/<script|<image|<use|@import|url\(|href|https?:(?!\/\/www\.w3\.org\/2000\/svg")/);
  expect(svg).toContain('@media (prefers-color-scheme:dark)');
  expect(svg).toMatch(/^<svg [^>]*role="img" aria-labelledby="sluice-title sluice-description">/);
});

/** Also halves of characters, and what XML cannot say. */
const anyText = fc
  .array(fc.oneof(fc.constantFrom(...'<>&"\'/!-[]\n\0 '), fc.integer({ min: 0, max: 0xffff })), { maxLength: 40 })
  .map((all) => all.map((one) => (typeof one === 'string' ? one : String.fromCharCode(one))).join(''));

test('nothing that a scenario says can break out of its text', () => {
  expect(escaped(`<a b="c">&'\u0000\u001b\ud800 ü 🙂`)).toBe(`&lt;a b=&quot;c&quot;&gt;&amp;' ü 🙂`);
  fc.assert(
    fc.property(anyText, (words) => {
      const svg = resultSvg({
        ...someResult,
        name: words,
        about: words,
        variants: someResult.variants.map((variant) => ({ ...variant, name: words, notes: [words] })),
        expectations: [{ claim: words, isMet: true, measured: words }],
      });
      const tags = [...svg.matchAll(/<\/?([a-z]+)/g)].map(([, tag]) => tag);
      expect(new Set(tags)).toEqual(new Set(['svg', 'title', 'desc', 'style', 'rect', 'g', 'text', 'path']));
      expect(svg.replace(/&(amp|lt|gt|quot);/g, '')).not.toContain('&');
    }),
    { numRuns: 50 },
  );
});

test('an area of steps has a corner only where something changes', () => {
  expect(stepArea([4, 4, 2], [10, 10, 10], 5)).toBe('M0 4L10 4L10 2L15 2L15 10L0 10Z');
  expect(stepArea([10, 10], [10, 10], 5)).toBeUndefined();
});
