// Locations of backends, which each backend reads from the settings. The list of backends is a parameter of loading settings,
// so this room imports none of them.
import { backendKinds, namesOf, type BackendDescription, type BackendKind } from './backend-description.ts';
import { SettingsError, type Problem } from './problems.ts';
import type { Settings } from './settings.ts';

/** The location of the data of a backend. */
export interface BackendPlace {
  /** Equal for all spellings of one location. Backends at one location share it, and their transactions. */
  readonly key: string;
  /** Description for messages, without passwords. */
  readonly text: string;
  /** File that opening the backend creates; absent when the data is not in a file. */
  readonly file?: string;
  /** File that opening the security state creates; absent when it has no separate file. */
  readonly securityStateFile?: string;
}

/** The part of a backend that settings depend on. */
export interface BackendSettings extends BackendDescription {
  /**
   * Reads the location from the settings.
   *
   * @throws SettingsError with the setting and its accepted form
   */
  readPlace(settings: Settings, kind: BackendKind): BackendPlace;
  /** Returns a sentence with a remedy for each of its settings that is risky. */
  findRisks?(settings: Settings): readonly string[];
}

/** Returns the problems of the locations of the configured backends. */
export function findPlaceProblems(settings: Settings, backends: readonly BackendSettings[]): readonly Problem[] {
  return backendKinds.flatMap((kind) => {
    try {
      findBackend(settings, backends, kind)?.readPlace(settings, kind);
      return [];
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      return error.problems;
    }
  });
}

/** Returns the configured backend, if it is in the list. */
export function findBackend<T extends BackendSettings>(
  settings: Pick<Settings, 'get'>,
  backends: readonly T[],
  kind: BackendKind,
): T | undefined {
  const name = settings.get(`${kind}_backend`);
  return backends.find((backend) => backend.name === name && backend.kinds.includes(kind));
}

/** Returns the settings whose backend loses its data with the process. */
export function findVolatileChoices(
  settings: Pick<Settings, 'get'>,
  backends: readonly BackendSettings[],
): readonly string[] {
  return (['storage', 'permission'] as const)
    .filter((kind) => findBackend(settings, backends, kind)?.isVolatile === true)
    .map((kind) => `${kind}_backend`);
}

/** Returns the names of the backends that store objects durably, for messages: `a, b or c`. */
export function durableNames(backends: readonly BackendSettings[]): string {
  const durable = backends.filter(({ isVolatile }) => isVolatile !== true);
  return namesOf(durable, 'storage')
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1');
}

/** Returns the URL with its passwords replaced by `***`. */
export function withoutPasswords(url: string): string {
  return url.replace(/(\/\/[^/?#]*:)[^/?#]*@/, '$1***@').replace(/([?&]password=)[^&]*/gi, '$1***');
}

/** Throws a SettingsError about the URL of a kind. The message omits the value, which may contain a password. */
export function refuseUrl(kind: BackendKind, expected: string): never {
  throw new SettingsError([{ name: `${kind}_url`, message: `expected ${expected}` }]);
}
