// `npm start`: sets up, builds, and runs the service with whatever arguments follow. `npm run demo` does the same for the
// demonstration of the algorithms.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { build, installDependencies, root } from './set-up.mjs';

const programs = {
  service: ['packages/server/program/main.js', 'serve', '--banner'],
  demonstration: ['packages/simulator/dist/demonstration/main.js'],
};

const [name, ...given] = process.argv.slice(2);
const [main, ...args] = programs[name === 'demonstration' ? 'demonstration' : 'service'];

if (!installDependencies() || !build()) process.exit(1);

// Paths among the arguments are the caller's, wherever in the repository npm was called.
const cwd = process.env.INIT_CWD ?? root;
const child = spawn(process.execPath, [join(root, String(main)), ...args, ...given], { cwd, stdio: 'inherit' });
// The terminal sends Ctrl-C to both; the program decides how to end, and this process reports its answer.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.on('SIGHUP', () => child.kill('SIGHUP'));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
