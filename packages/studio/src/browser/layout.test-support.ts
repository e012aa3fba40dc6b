/** What is broken about a page's layout by its boxes alone: sideways scrolling, words cut off, things on top of each other. */
import type { Page } from 'playwright-core';

export function layoutProblems(page: Page): Promise<string[]> {
  return page.evaluate(problemsHere);
}

/** Runs in the page, so it has everything that it needs inside. */
function problemsHere(): string[] {
  const problems: string[] = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) problems.push(`The page is ${scrollWidth} wide on a screen of ${clientWidth}.`);

  const nameOf = (element: Element) =>
    `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') ?? ''}"> "${(element.textContent ?? '').trim().slice(0, 40)}"`;
  const isHiddenFromSight = (element: Element) => element.closest('.visually-hidden, .skip-link') !== null;

  function scrollsInside(element: Element): boolean {
    for (let one = element.parentElement; one !== null && one !== document.body; one = one.parentElement) {
      if (getComputedStyle(one).overflowX !== 'visible') return true;
    }
    return false;
  }

  for (const element of document.body.querySelectorAll('*')) {
    if (isHiddenFromSight(element)) continue;
    const { left, right, width } = element.getBoundingClientRect();
    if (width === 0 || scrollsInside(element)) continue;
    if (left < -1 || right > clientWidth + 1) {
      problems.push(`${nameOf(element)} reaches from ${left} to ${right} on a screen of ${clientWidth}.`);
    }
  }

  const words = document.body.querySelectorAll<HTMLElement>(
    'h1, h2, h3, button, a, label, legend, summary, th, dt, dd',
  );
  for (const element of words) {
    if (isHiddenFromSight(element) || element.clientWidth <= 1) continue;
    const isCutAcross = element.scrollWidth > element.clientWidth + 1;
    const isCutDown = element.scrollHeight > element.clientHeight + 2;
    const { overflowX, overflowY } = getComputedStyle(element);
    const isWrong = (isCutAcross && overflowX !== 'auto') || (isCutDown && overflowY === 'hidden');
    if (isWrong) problems.push(`The words of ${nameOf(element)} do not fit into it.`);
  }

  const solid = [...document.body.querySelectorAll('h1, h2, h3, button, a, input, select, textarea, summary, legend')]
    // The radio buttons of a choice lie above their words, unseen.
    .filter((element) => !isHiddenFromSight(element) && element.closest('.choice label') === null)
    .filter((element) => element.checkVisibility())
    .map((element) => ({ element, box: element.getBoundingClientRect() }));
  for (const [i, { element: one, box: a }] of solid.entries()) {
    for (const { element: other, box: b } of solid.slice(i + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 1) problems.push(`${nameOf(one)} lies on ${nameOf(other)}.`);
    }
  }
  return problems;
}
