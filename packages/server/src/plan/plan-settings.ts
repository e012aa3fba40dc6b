/** What has to be set on the nodes for the plan to hold: where it calculates with something else than what a node takes by itself. */
import { defaultShards, mostShards as shards } from '../cluster/shards.ts';
import type { ClusterSize } from './cluster-size.ts';
import { liveKeys } from './memory-need.ts';
import { type PlanQuestion, planDefaults } from './plan-question.ts';

export interface PlanSetting {
  readonly name: string;
  readonly value: string;
  readonly why: string;
}

export const defaultMaxKeys = 1_000_000;

export function planSettings(question: PlanQuestion, { clusters }: ClusterSize): readonly PlanSetting[] {
  const why = `the plan calculates with as many, not ${defaultShards}`;
  const settings: PlanSetting[] = [{ name: 'store.shards', value: String(shards), why }];
  const maxKeys = keysToHold(question, clusters);
  if (maxKeys > defaultMaxKeys)
    settings.push({
      name: 'store.maxKeys',
      value: String(maxKeys),
      why: 'each shard has an equal part, and the fullest needs so much',
    });
  const given = (name: string, value: number, byDefault: number, text: string) => {
    if (value !== byDefault) settings.push({ name: `store.${name}`, value: text, why: '' });
  };
  const usual = planDefaults;
  given('ttl', question.ttlMs, usual.ttlMs, `${question.ttlMs}ms`);
  given('grace', question.graceMs, usual.graceMs, `${question.graceMs}ms`);
  given('unreplicated', question.unreplicated, usual.unreplicated, String(question.unreplicated));
  given('durableFrom', question.durableFromMs, usual.durableFromMs, `${question.durableFromMs}ms`);
  given('durableKeys', question.durableKeys, usual.durableKeys, String(question.durableKeys));
  return settings;
}

/** Keys fall on shards by chance, as users do on nodes (`spread.ts`). */
function keysToHold(question: PlanQuestion, clusters: number): number {
  const perShard = liveKeys(question) / clusters / shards;
  return shards * Math.ceil(perShard + Math.sqrt(2 * perShard * Math.log(shards)));
}
