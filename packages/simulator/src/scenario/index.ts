export { type ParseScenarioOptions, parseScenario } from './parse-scenario.ts';
export { ScenarioError } from './problems.ts';
export type {
  ExpectationResult,
  Measure,
  ScenarioResult,
  Series,
  SeriesKind,
  Unit,
  VariantResult,
} from './result.ts';
export { type RunScenarioOptions, runScenario } from './run-scenario.ts';
export type { Scenario } from './scenario.ts';
