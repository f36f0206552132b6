// The description of a backend for the table of settings: its names, URL forms and own settings. Each backend provides it.
import type { SettingsTable } from './definition.ts';

/** Uses of a backend. */
export type BackendKind = 'storage' | 'permission' | 'cache';

export const backendKinds: readonly BackendKind[] = ['storage', 'permission', 'cache'];

/** The settings `storage_url`, `permission_url` and `cache_url`, for a backend that reads them. */
export interface BackendUrl {
  /** Accepted forms, as examples separated by commas. */
  readonly forms: string;
  /** Forms that no other backend accepts, for commands whose only argument is a URL. */
  readonly ownForms: string;
  /** The object that the URL names and its default, as the end of a sentence. */
  readonly names: (kind: BackendKind) => string;
  /** Value in a new configuration file. */
  readonly example: string;
  /** Whether a URL has one of these forms. */
  readonly isOwn: (url: string) => boolean;
}

/** The part of a backend that the table of settings depends on. */
export interface BackendDescription {
  /** Name in `storage_backend`, `permission_backend` and `cache_backend`. */
  readonly name: string;
  /** Dotted names of Kinto for this backend that do not end in its name. */
  readonly otherNames?: readonly string[];
  /** Section of its settings in the reference. */
  readonly title: string;
  /** Uses that the backend supports. */
  readonly kinds: readonly BackendKind[];
  /** Absent: the backend has no location, or other settings contain it. */
  readonly url?: BackendUrl;
  /** Settings that only this backend reads. */
  readonly settings: SettingsTable;
  /** Further lines of a new configuration file, by setting. */
  readonly initialSettings?: Readonly<Record<string, string>>;
  /** Whether the data belongs to the process, and is lost with it. */
  readonly isVolatile?: boolean;
  /** Reason why only one process can serve its data; absent: several can. */
  readonly reasonForOneProcess?: string;
  /** Whether `coffer migrate` alone changes its schema, so that an operator runs it before the first start. */
  readonly needsMigration?: boolean;
}

/** Returns the names of the backends that support a use, in their order. */
export function namesOf(backends: readonly BackendDescription[], kind: BackendKind): readonly string[] {
  return backends.filter(({ kinds }) => kinds.includes(kind)).map((backend) => backend.name);
}
