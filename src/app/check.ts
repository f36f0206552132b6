// Checks everything that a start needs, without starting: settings, plugins, traces, backends and pending migrations. Changes
// nothing, and continues after a problem, so that one run reports all of them.
import process from 'node:process';
import { systemClock } from '../base/clock.ts';
import { describeExposedFiles } from '../backends/data-files.ts';
import { openInMemory } from '../backends/open-backends.ts';
import type { Logger } from '../contracts/logger.ts';
import { checkBackends, type BackendCheckOptions, type Finding } from '../maintenance/check-backends.ts';
import type { Plugin } from '../http/plugin.ts';
import { findRisks } from '../maintenance/risks.ts';
import { Observation } from '../observability/observation.ts';
import { Observers } from '../observability/observers.ts';
import { findTracing } from '../observability/tracing/environment.ts';
import { describeProblem, SettingsError, type Problem } from '../settings/problems.ts';
import type { Settings } from '../settings/settings.ts';
import { Faults } from './faults.ts';
import { familiesOf, findUnreadSettings, gatherPlugins, tablesOf } from './plugins.ts';
import { assemble } from './service.ts';

/** Reports each finding as soon as it is known. */
export async function checkService(
  settings: Settings,
  report: (finding: Finding) => void,
  options: BackendCheckOptions,
): Promise<void> {
  const risks = [findRisks, describeExposedFiles].flatMap((find) => unlessWrong(() => find(settings)));
  for (const text of [...settings.warnings, ...risks]) report({ kind: 'warning', text });
  const traces = findTracing(process.env);
  if (typeof traces === 'object') report({ kind: 'warning', text: `Traces would not be sent: ${traces.unusable}.` });
  else if (traces === 'on') report({ kind: 'ok', text: 'traces: sent, as OTEL_… in the environment says' });
  const { problems, plugins } = await tryAssembly(settings, reportingLogger(report));
  const names = plugins.map(({ name }) => name);
  for (const problem of problems) report({ kind: 'problem', text: describeProblem(problem) });
  if (problems.length === 0) report({ kind: 'ok', text: `plugins: ${names.length === 0 ? 'none' : names.join(', ')}` });
  await checkBackends(settings, report, options);
}

/**
 * Returns the problems of assembling the service, besides those of core settings: plugins, their settings, policies,
 * listeners; and names of settings that nothing reads, because a misspelt name may be why another setting is missing.
 * Opens no backends.
 */
export async function findAssemblyProblems(settings: Settings): Promise<readonly Problem[]> {
  const { problems, plugins, isComplete } = await tryAssembly(settings, reportingLogger(ignore));
  const unread = isComplete ? await findUnreadSettings(settings, plugins) : [];
  return [...problems, ...unread.map(({ line }) => ({ message: line }))];
}

/** Returns no risks where a setting that they depend on is wrong, which the checks of settings and plugins report. */
function unlessWrong(find: () => readonly string[]): readonly string[] {
  try {
    return find();
  } catch (error) {
    if (error instanceof SettingsError) return [];
    throw error;
  }
}

interface Trial {
  readonly problems: readonly Problem[];
  readonly plugins: readonly Plugin[];
  /** Whether all plugins were found. */
  readonly isComplete: boolean;
}

/** Assembles the service on memory backends, and closes it. */
async function tryAssembly(settings: Settings, logger: Logger): Promise<Trial> {
  const faults = new Faults();
  const plugins = await gatherPlugins(settings, [], faults);
  faults.attempt(() => settings.check(tablesOf(plugins), familiesOf(plugins)));
  // The error repeats the faults or adds one.
  await faults.attemptAsync(async () => {
    const observation = new Observation(new Observers(logger), undefined, false);
    const backends = await openInMemory(settings, systemClock);
    const service = await assemble({ settings, logger, clock: systemClock, faults }, plugins, backends, observation);
    await service.close();
  });
  return { problems: faults.problems, plugins, isComplete: !faults.hasUnknownGaps };
}

/** Reports the warnings and errors that plugins log at a start. */
function reportingLogger(report: (finding: Finding) => void): Logger {
  const reportAs =
    (kind: 'warning' | 'problem') =>
    (fields: object | string, message?: string): void =>
      report({ kind, text: typeof fields === 'string' ? fields : (message ?? '') });
  return { debug: ignore, info: ignore, warn: reportAs('warning'), error: reportAs('problem') };
}

function ignore(): void {}
