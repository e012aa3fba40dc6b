/** The frame around the views: where one is, where one can go, light or dark. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { linkTo, type Route, useRoute, type ViewName, viewNames } from './route.ts';
import { useTheme } from './theme.ts';

export interface ViewProps {
  readonly query: URLSearchParams;
}

const views: Readonly<Record<ViewName, { title: string; load: () => Promise<ComponentType<ViewProps>> }>> = {
  playground: {
    title: 'Playground',
    load: async () => (await import('../playground/playground-view.tsx')).PlaygroundView,
  },
  live: { title: 'Live', load: async () => (await import('../live/live-view.tsx')).LiveView },
  tuner: { title: 'Tuner', load: async () => (await import('../tuner/tuner-view.tsx')).TunerView },
};

export function App() {
  const route = useRoute();
  useEffect(() => {
    document.title = `${views[route.view].title} · Sluice studio`;
  }, [route.view]);
  return (
    <>
      <button type="button" class="skip-link" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="frame">
        <span class="wordmark">Sluice</span>
        <nav aria-label="Views">
          {viewNames.map((name) => (
            <a key={name} href={linkTo(name, route.view)} aria-current={name === route.view ? 'page' : undefined}>
              {views[name].title}
            </a>
          ))}
        </nav>
        <ThemeSwitch />
      </header>
      <main id="main" tabIndex={-1}>
        <View key={route.view} route={route} />
      </main>
    </>
  );
}

function View({ route }: { readonly route: Route }) {
  const [Loaded, setLoaded] = useState<ComponentType<ViewProps>>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    views[route.view].load().then(
      (component) => isCurrent && setLoaded(() => component),
      (error: Error) => isCurrent && setProblem(error.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [route.view]);
  if (problem !== undefined)
    return (
      <p role="alert" class="problem">
        This view could not be loaded: {problem}. Is the service still running? Reload the page to try again.
      </p>
    );
  return Loaded === undefined ? <p class="quiet">Loading…</p> : <Loaded query={route.query} />;
}

function ThemeSwitch() {
  const [theme, choose] = useTheme();
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <button type="button" class="theme-switch" aria-label={`Use the ${other} theme`} onClick={() => choose(other)}>
      {theme === 'dark' ? '☀' : '☾'}
    </button>
  );
}
