// `npm start`: sets up, builds, and runs the demonstration with whatever arguments follow.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { build, installDependencies, root } from './set-up.mjs';

if (!installDependencies() || !build()) process.exit(1);

const main = join(root, 'packages/simulator/dist/demonstration/main.js');
const child = spawn(process.execPath, [main, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
// The terminal sends Ctrl-C to both; the demonstration decides how to end, and this process reports its answer.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
