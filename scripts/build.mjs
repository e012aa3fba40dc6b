import { build, installDependencies } from './set-up.mjs';

process.exit(installDependencies() && build() ? 0 : 1);
