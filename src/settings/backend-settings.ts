// What the settings know of a backend: its own settings, how it reads the URL of its place, and its documentation. The list
// of backends is handed in when settings are loaded, so that this room needs to know none of them.
import type { SettingsTable } from './definition.ts';
import { SettingsError, type Problem } from './problems.ts';
import type { Settings } from './settings.ts';

/** What a backend can be opened for. */
export type BackendKind = 'storage' | 'permission' | 'cache';

export const backendKinds: readonly BackendKind[] = ['storage', 'permission', 'cache'];

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

/** The setting `storage_url` and its like, for a backend that reads it. */
export interface BackendUrl {
  /** What is accepted, as examples separated by commas. */
  readonly forms: string;
  /** Those forms that no other backend accepts, for commands that take a URL alone. */
  readonly ownForms: string;
  /** What the URL names and what an empty one means, as the end of a sentence. */
  readonly names: (kind: BackendKind) => string;
  /** What a new configuration file contains. */
  readonly example: string;
  /** Whether a URL has one of these forms. */
  readonly isOwn: (url: string) => boolean;
}

export interface BackendSettings {
  /** Value of `storage_backend` and its like. */
  readonly name: string;
  /** Dotted names of the reference server that mean this backend and do not end in its name. */
  readonly otherNames?: readonly string[];
  /** Heading of its settings. */
  readonly title: string;
  /** Which of the settings `storage_backend`, `permission_backend` and `cache_backend` may name it. */
  readonly kinds: readonly BackendKind[];
  /** Absent: the backend has no place, or other settings name it. */
  readonly url?: BackendUrl;
  /** Settings that only this backend reads. */
  readonly settings: SettingsTable;
  /** Further lines of a new configuration file, by setting. */
  readonly initialSettings?: Readonly<Record<string, string>>;
  /** Whether the data belongs to the process, and is lost with it. */
  readonly isVolatile?: boolean;
  /** Why only one process can serve its data; absent: any number can. */
  readonly reasonForOneProcess?: string;
  /** Whether `coffer migrate` alone changes its schema, so that an operator runs it before the first start. */
  readonly needsMigration?: boolean;
  /**
   * Reads the place from the settings.
   *
   * @throws SettingsError naming the setting and what is accepted
   */
  readPlace(settings: Settings, kind: BackendKind): BackendPlace;
  /** Returns a sentence for each of its settings that is risky, with what to do. */
  findRisks?(settings: Settings): readonly string[];
}

/** Returns the names of the backends that can be opened for this, in the order of their list. */
export function namesOf(backends: readonly BackendSettings[], kind: BackendKind): readonly string[] {
  return backends.filter(({ kinds }) => kinds.includes(kind)).map((backend) => backend.name);
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
