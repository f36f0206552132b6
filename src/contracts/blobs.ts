// Stores of files that belong to objects: attachments. A store does not know the objects that refer to a file.
import type { Readable } from 'node:stream';

/** A file to store. It stays in its place, so that it can be stored again. */
export interface BlobSource {
  readonly path: string;
  readonly sizeBytes: number;
  /** SHA-256 of the content in hexadecimal digits. */
  readonly hash: string;
  readonly mimetype: string;
}

/** A stored file. */
export interface BlobEntry {
  readonly name: string;
  readonly sizeBytes: number;
  /** Milliseconds since 1970 UTC. */
  readonly lastModified: number;
}

/** Headers of requests for files that stores evaluate. */
export const blobQueryHeaders = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
] as const;

/** A request for a file, with the headers for ranges and conditions. */
export interface BlobQuery {
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Partial<Record<(typeof blobQueryHeaders)[number], string>>>;
}

/** An HTTP response with a file or a part of it. */
export interface BlobAnswer {
  readonly status: 200 | 206 | 304 | 412 | 416;
  /** Only length, range and validators of the content. */
  readonly headers: Readonly<Record<string, string>>;
  /** The caller must read or destroy it. */
  readonly body: Readable | undefined;
}

/** Access to files: a local folder, or requests to a remote store. */
export type BlobAccess =
  | { readonly kind: 'folder'; readonly root: string; readonly has: (name: string) => Promise<boolean> }
  | { readonly kind: 'remote'; readonly fetch: (name: string, query: BlobQuery) => Promise<BlobAnswer | undefined> };

/**
 * A store of files by name. Names of new files are paths of letters, digits, `_`, `-`, `.` and `/`, in which no segment starts
 * with a dot. Implementations check all names with `withCheckedNames` of `blob-names.ts`. I/O failures are thrown as `BackendUnavailable`.
 */
export interface BlobStore {
  /** Returns the best folder for temporary files with names of `spooledName`: `put` need not copy files from there. */
  readonly spoolFolder: () => Promise<string>;
  readonly access: BlobAccess;

  /**
   * Stores a file under the name with a part before its extension that makes it unique. A store whose deletions may be executed
   * late or twice always adds random digits, so it never uses a name again. Other stores add `-1`, `-2` … or random digits
   * when the name is taken. Never overwrites a file, not even with concurrent calls for one name. Readers never see an
   * incomplete file. When the promise resolves, the file is as durable as the store allows.
   *
   * @returns the name of the stored file
   * @throws Error for an invalid name; BackendUnavailable, also when all of twenty names are taken
   */
  put(name: string, source: BlobSource): Promise<string>;

  /**
   * Deletes a file; no error when it is absent.
   *
   * @throws Error for a name that could lead out of the store
   */
  delete(name: string): Promise<void>;

  /**
   * Deletes a file that `list` has returned, unless it was modified at the given time or later: another file may have got its
   * name meanwhile.
   *
   * @param before milliseconds since 1970 UTC
   * @returns whether a file was deleted
   * @throws Error for a name that could lead out of the store
   */
  deleteOlder(name: string, before: number): Promise<boolean>;

  /**
   * Lists all files in any order, including temporary files that were never stored. Skips names that could lead out of the
   * store.
   */
  list(): AsyncIterable<BlobEntry>;

  /** Tests the store: writes and deletes a small file. */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** A store and its parameters. */
export type BlobPlace =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** Whether files are only read. The folder must then exist, and may be read-only. */
      readonly isReadonly?: boolean;
    }
  | {
      readonly kind: 's3';
      /** URL without bucket: `https://s3.example.org`. */
      readonly endpoint: string;
      readonly region: string;
      readonly bucket: string;
      readonly accessKey: string;
      readonly secretKey: string;
      /** Whether the bucket is part of the path instead of the host name. */
      readonly usesPathStyle: boolean;
      /** Canned ACL of each file; `undefined` leaves it to the bucket. */
      readonly acl: string | undefined;
      /** Maximum silence of a request before it is aborted. */
      readonly timeoutSeconds: number;
      /** Maximum number of retries of a request after transient failures. */
      readonly retries: number;
    };
