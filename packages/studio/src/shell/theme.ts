/** Light or dark: what the system says, until somebody chooses. */
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'light' | 'dark';

const storedAs = 'sluice-theme';

export function startTheme(): void {
  const chosen = chosenTheme();
  if (chosen !== undefined) document.documentElement.dataset.theme = chosen;
}

export function useTheme(): [theme: Theme, choose: (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => chosenTheme() ?? systemTheme());
  useEffect(() => {
    const follow = () => document.documentElement.dataset.theme === undefined && setTheme(systemTheme());
    const system = systemIsDark();
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, []);
  function choose(next: Theme): void {
    document.documentElement.dataset.theme = next;
    keep(next);
    setTheme(next);
    // What is drawn on a canvas has to be drawn again in other colours.
    dispatchEvent(new Event('themechange'));
  }
  return [theme, choose];
}

function systemTheme(): Theme {
  return systemIsDark().matches ? 'dark' : 'light';
}

function systemIsDark(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)');
}

function chosenTheme(): Theme | undefined {
  try {
    const stored = localStorage.getItem(storedAs);
    return stored === 'light' || stored === 'dark' ? stored : undefined;
  } catch {
    return undefined; // Storage is forbidden here: the choice lasts as long as the page.
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(storedAs, theme);
  } catch {
    // As above: nothing is lost but the memory of it.
  }
}
