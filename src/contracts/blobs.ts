// Where files are kept that belong to objects: attachments. A store knows nothing of objects; who refers to a file is
// for others to remember.

/** A file that is about to be stored. It stays where it is, so that it can be stored again. */
export interface BlobSource {
  readonly path: string;
  readonly sizeBytes: number;
  /** SHA-256 of the content in hexadecimal digits. */
  readonly hash: string;
  readonly mimetype: string;
}

/** A file that is there. */
export interface BlobEntry {
  readonly name: string;
  readonly sizeBytes: number;
  /** Milliseconds since 1970 UTC. */
  readonly lastModified: number;
}

/** What a reader of a file asks for: header names in lower case, only those that HTTP has for this. */
export interface BlobQuery {
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Partial<Record<'range' | 'if-range' | 'if-none-match' | 'if-modified-since', string>>>;
}

/** A file, or a part of it, as HTTP has it. */
export interface BlobAnswer {
  readonly status: 200 | 206 | 304 | 412 | 416;
  /** Length, range and validators of the content; nothing else. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array> | undefined;
}

/** How files are read: from a folder of this machine, or by asking for them. */
export type BlobAccess =
  | { readonly kind: 'folder'; readonly root: string; readonly has: (name: string) => Promise<boolean> }
  | { readonly kind: 'remote'; readonly fetch: (name: string, query: BlobQuery) => Promise<BlobAnswer | undefined> };

/**
 * A store of files by name. Names are paths of letters, digits, `_`, `-`, `.` and `/`, none of whose parts starts with a
 * point; implementations refuse others, whatever callers have checked. What the world does to them is thrown as
 * `BackendUnavailable`.
 */
export interface BlobStore {
  /** The folder where files that are going to be stored are best gathered: they need not be copied from there. */
  readonly spoolFolder: () => Promise<string>;
  readonly access: BlobAccess;

  /**
   * Stores a file under the name or, when that is taken, under one with `-1`, `-2` … before its extension. Nothing is
   * ever written over, also when several ask for one name at once, and nobody sees half a file. When this resolves, the
   * file is as durable as the store can make it.
   *
   * @returns the name that it got
   */
  put(name: string, source: BlobSource): Promise<string>;

  /** Removes a file; one that is not there is no error. */
  delete(name: string): Promise<void>;

  /** All files, in no particular order, those that were gathered and never stored included. */
  list(): AsyncIterable<BlobEntry>;

  /** Writes and deletes a small file. */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** Which store, and how to reach it. */
export type BlobPlace =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** Whether nothing will be put, so that the folder is there already and may be one that cannot be written to. */
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
      /** Whether the bucket stands in the path and not in the name of the host. */
      readonly usesPathStyle: boolean;
      /** Canned access list given to each file; none: as the bucket says. */
      readonly acl: string | undefined;
      /** Silence after which a request is given up. */
      readonly timeoutSeconds: number;
      /** How often a request is repeated when it failed for a reason that may pass. */
      readonly retries: number;
    };

const safeName = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/;

/** @throws Error for a name that no store takes */
export function requireBlobName(name: string): void {
  if (!safeName.test(name) || name.length > 1000) throw new Error(`no store takes the name ${JSON.stringify(name)}`);
}

/** The names to try for a file, in order: `a.png`, `a-1.png`, `a-2.png` … */
export function* blobNames(name: string): Generator<string, never> {
  const start = name.lastIndexOf('/') + 1;
  const point = name.lastIndexOf('.');
  const end = point > start ? point : name.length;
  yield name;
  for (let number = 1; ; number++) yield `${name.slice(0, end)}-${number}${name.slice(end)}`;
}
