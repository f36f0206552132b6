// Stores of the files that belong to objects (attachments). A store knows nothing of objects: callers remember which object
// refers to which file.

/** A file to store. The store does not move or change it, so it can be stored again. */
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

/** A request for a file. Header names are lower-case, and only those that HTTP defines for this. */
export interface BlobQuery {
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Partial<Record<'range' | 'if-range' | 'if-none-match' | 'if-modified-since', string>>>;
}

/** A response with a file or a part of it. */
export interface BlobAnswer {
  readonly status: 200 | 206 | 304 | 412 | 416;
  /** Length, range and validators of the content, and no other headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array> | undefined;
}

/** Access to files: from a folder of this machine, or by requests to a server. */
export type BlobAccess =
  | { readonly kind: 'folder'; readonly root: string; readonly has: (name: string) => Promise<boolean> }
  | { readonly kind: 'remote'; readonly fetch: (name: string, query: BlobQuery) => Promise<BlobAnswer | undefined> };

/**
 * A store of files by name. Names are paths of letters, digits, `_`, `-`, `.` and `/`, and no part starts with a point.
 * Implementations refuse other names, even when callers have checked them. Failures of disk or network are thrown as
 * `BackendUnavailable`.
 */
export interface BlobStore {
  /** Returns the folder in which to collect files before they are stored, so that the store need not copy them. */
  readonly spoolFolder: () => Promise<string>;
  readonly access: BlobAccess;

  /**
   * Stores a file under the name or, when that is taken, under one with `-1`, `-2` … before its extension. Never overwrites
   * a file, even when several callers store under one name at once, and never shows an incomplete file. When this resolves,
   * the file is as durable as the store can make it.
   *
   * @returns the name under which the file is stored
   */
  put(name: string, source: BlobSource): Promise<string>;

  /** Deletes a file; no error when it is absent. */
  delete(name: string): Promise<void>;

  /** Returns all files in no particular order, including files in the spool folder that were never stored. */
  list(): AsyncIterable<BlobEntry>;

  /** Writes and deletes a small file, to test the store. */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** Kind of a store, and how to reach it. */
export type BlobPlace =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** Whether files are only read, so the folder exists already and may be read-only. */
      readonly isReadonly?: boolean;
    }
  | {
      readonly kind: 's3';
      /** `https://s3.example.org`, without bucket. */
      readonly endpoint: string;
      readonly region: string;
      readonly bucket: string;
      readonly accessKey: string;
      readonly secretKey: string;
      /** Whether the bucket is part of the path instead of the host name. */
      readonly usesPathStyle: boolean;
      /** Canned access control list of each file; `undefined`: the bucket decides. */
      readonly acl: string | undefined;
      /** Seconds without data after which a request fails. */
      readonly timeoutSeconds: number;
      /** Number of times that a request is repeated after a failure that may be temporary. */
      readonly retries: number;
    };

const safeName = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/;

/** @throws Error when the name is not valid for a store */
export function requireBlobName(name: string): void {
  if (!safeName.test(name) || name.length > 1000) throw new Error(`invalid file name: ${JSON.stringify(name)}`);
}

/** Yields the names to try for a file, in order: `a.png`, `a-1.png`, `a-2.png` … */
export function* blobNames(name: string): Generator<string, never> {
  const start = name.lastIndexOf('/') + 1;
  const point = name.lastIndexOf('.');
  const end = point > start ? point : name.length;
  yield name;
  for (let number = 1; ; number++) yield `${name.slice(0, end)}-${number}${name.slice(end)}`;
}
