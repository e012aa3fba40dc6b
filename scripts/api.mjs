// `npm run api`: rewrites the committed list of public names, so that a change of the API is a line in the diff.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listPublicApi } from './public-api.mjs';
import { root } from './set-up.mjs';

mkdirSync(join(root, 'docs/reference'), { recursive: true });
writeFileSync(join(root, 'docs/reference/api.txt'), listPublicApi(join(root, 'packages/sluice')));
