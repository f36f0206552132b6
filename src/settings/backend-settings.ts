// How a backend reads its place from the settings. The list of backends is handed in when settings are loaded, so that this
// room needs to know none of them.
import { backendKinds, namesOf, type BackendDescription, type BackendKind } from './backend-description.ts';
import { SettingsError, type Problem } from './problems.ts';
import type { Settings } from './settings.ts';

/** Where a backend keeps its data. */
export interface BackendPlace {
  /** Equal for one place, however it is written. Backends of one place share it, and their transactions. */
  readonly key: string;
  /** The place for people, without passwords. */
  readonly text: string;
  /** The file that opening the backend creates, where it keeps its data in one. */
  readonly file?: string;
  /** The file that opening the security state creates, where it keeps that in a file of its own. */
  readonly securityStateFile?: string;
}

/** A backend, as far as settings depend on it. */
export interface BackendSettings extends BackendDescription {
  /**
   * Reads the place from the settings.
   *
   * @throws SettingsError naming the setting and what is accepted
   */
  readPlace(settings: Settings, kind: BackendKind): BackendPlace;
  /** Returns a sentence for each of its settings that is risky, with what to do. */
  findRisks?(settings: Settings): readonly string[];
}

/** Returns what is wrong with the places of the backends that the settings name. */
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

/** Returns the backend that the settings name, when it is one of the list. */
export function findBackend<T extends BackendSettings>(
  settings: Pick<Settings, 'get'>,
  backends: readonly T[],
  kind: BackendKind,
): T | undefined {
  const name = settings.get(`${kind}_backend`);
  return backends.find((backend) => backend.name === name && backend.kinds.includes(kind));
}

/** Returns the settings that name a backend whose data is lost with the process. */
export function findVolatileChoices(
  settings: Pick<Settings, 'get'>,
  backends: readonly BackendSettings[],
): readonly string[] {
  return (['storage', 'permission'] as const)
    .filter((kind) => findBackend(settings, backends, kind)?.isVolatile === true)
    .map((kind) => `${kind}_backend`);
}

/** Returns the names of the backends that keep objects and outlive the process, for messages: `a, b or c`. */
export function durableNames(backends: readonly BackendSettings[]): string {
  const durable = backends.filter(({ isVolatile }) => isVolatile !== true);
  return namesOf(durable, 'storage')
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1');
}

/** Returns a URL with stars in place of its passwords. */
export function withoutPasswords(url: string): string {
  return url.replace(/(\/\/[^/?#]*:)[^/?#]*@/, '$1***@').replace(/([?&]password=)[^&]*/gi, '$1***');
}

/** Throws a SettingsError for the URL of a kind, whose value is not repeated: it may hold a password. */
export function refuseUrl(kind: BackendKind, expected: string): never {
  throw new SettingsError([{ name: `${kind}_url`, message: `expected ${expected}` }]);
}
