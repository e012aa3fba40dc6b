// What the tests of this folder share: upstream's files, and requests written shortly.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { memoryStore, type Store } from 'sluice';
import { TestClock } from 'sluice/testing';
import type { Answer } from '../service/service.ts';
import type { EnvoyRules } from './envoy-rules.ts';
import { type EnvoyFile, loadEnvoyFiles } from './load-envoy-files.ts';
import type { Descriptor, DescriptorEntry, RateLimitRequest, RateLimitResponse } from './rate-limit-message.ts';
import { type EnvoyLimiter, type EnvoyLimiterOptions, envoyLimiter } from './should-rate-limit.ts';

const folders = ['test/config', 'examples/ratelimit/config', 'test/integration/runtime/current/ratelimit/config'];

/** A file of upstream's, by its name. */
export function upstreamFile(name: string): EnvoyFile {
  for (const folder of folders) {
    const url = new URL(`upstream-files/${folder}/${name}`, import.meta.url);
    try {
      return { path: basename(name), text: readFileSync(url, 'utf8') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new Error(`there is no ${name} in upstream-files`);
}

/** Rules of upstream's files, by their names. */
export function upstreamRules(names: string): EnvoyRules {
  return loadEnvoyFiles(names.split(' ').map(upstreamFile), { mergeDomains: true });
}

/** `key=value other=value` as entries. */
export function entries(text: string): DescriptorEntry[] {
  return text
    .split(' ')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const end = pair.indexOf('=');
      return { key: pair.slice(0, end), value: pair.slice(end + 1) };
    });
}

type Written = string | (Partial<Descriptor> & { readonly of: string });

/** A request about descriptors, each a text or a text with more about it. */
export function request(domain: string, descriptors: readonly Written[], hitsAddend = 0): RateLimitRequest {
  return {
    domain,
    hitsAddend,
    descriptors: descriptors.map((one) => {
      const { of, ...rest } = typeof one === 'string' ? { of: one } : one;
      return { entries: entries(of), isNegativeHits: false, ...rest };
    }),
  };
}

// Fifteen seconds into a minute of 2023.
export const startMs = 1_700_000_055_000;

export interface Bench extends EnvoyLimiter {
  readonly clock: TestClock;
  readonly store: Store;
  /** Asks a store that answers at once. */
  ask(domain: string, descriptors: readonly Written[], hitsAddend?: number): RateLimitResponse;
  /** The statuses in short: `OK 4`, `OVER_LIMIT 0`, `OK -` where no limit applies; the overall code first. */
  short(domain: string, descriptors: readonly Written[], hitsAddend?: number): string;
}

/** A limiter over memory, with time in hand. */
export function bench(rules: EnvoyRules | string, options: Partial<EnvoyLimiterOptions> = {}): Bench {
  const clock = new TestClock(startMs);
  const store = options.store ?? memoryStore({ clock });
  const loaded =
    typeof rules === 'string' ? loadEnvoyFiles([{ path: 'test.yaml', text: rules }], { mergeDomains: false }) : rules;
  const limiter = envoyLimiter({ rules: () => loaded, responseHeaders: () => false, ...options, store });
  const ask: Bench['ask'] = (...question) => now(limiter.shouldRateLimit(request(...question)));
  return {
    ...limiter,
    clock,
    store,
    ask,
    short(...question) {
      const { overallCode, statuses } = ask(...question);
      const each = statuses.map(({ code, currentLimit, limitRemaining }) => {
        return `${code} ${currentLimit || limitRemaining > 0 ? limitRemaining : '-'}`;
      });
      return [overallCode, ...each].join(', ');
    },
  };
}

function now<T>(answer: Answer<T>): T {
  if (answer instanceof Promise) throw new Error('this store answers later');
  return answer;
}
