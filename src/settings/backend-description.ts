// What the table of settings knows of a backend: its names, its URL and its own settings. Backends say it of themselves.
import type { SettingsTable } from './definition.ts';

/** What a backend can be opened for. */
export type BackendKind = 'storage' | 'permission' | 'cache';

export const backendKinds: readonly BackendKind[] = ['storage', 'permission', 'cache'];

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

/** A backend, as far as the table of settings depends on it. */
export interface BackendDescription {
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
}

/** Returns the names of the backends that can be opened for this, in the order of their list. */
export function namesOf(backends: readonly BackendDescription[], kind: BackendKind): readonly string[] {
  return backends.filter(({ kinds }) => kinds.includes(kind)).map((backend) => backend.name);
}
