/** The studio: three views in one page, each loaded when it is first shown. */
import { render } from 'preact';
import './shell/tokens.css';
import './shell/shell.css';
import './parts/parts.css';
import { App } from './shell/app.tsx';
import { startTheme } from './shell/theme.ts';

startTheme();
render(<App />, document.getElementById('app')!);
