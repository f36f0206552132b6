// Reads the schemas of a collection and its bucket from a running server.

/** A collection as its URL names it. */
export interface CollectionAddress {
  /** Address of the collection itself. */
  readonly collection: URL;
  readonly bucket: URL;
  readonly id: string;
}

/** What validates the records of a collection. */
export interface RecordSchemas {
  /** Attribute `schema` of the collection. */
  readonly schema: unknown;
  /** Timestamp of the collection. */
  readonly lastModified: number | undefined;
  /** Attribute `record:schema` of the bucket; `undefined` when it has none or may not be read. */
  readonly ofBucket: unknown;
}

/** A collection that cannot be read, with a message for people. */
export class NotReadable extends Error {}

/** Returns the parts of the URL of a collection or of its records; `undefined` for another URL. */
export function parseCollectionUrl(text: string): CollectionAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  const [, bucket, id] = /^(.*\/buckets\/[^/]+)\/collections\/([^/]+)(?:\/records)?\/?$/.exec(url.pathname) ?? [];
  if (bucket === undefined || id === undefined) return undefined;
  const base = `${url.protocol}//${url.host}${bucket}`;
  return { bucket: new URL(base), collection: new URL(`${base}/collections/${id}`), id: decodeURIComponent(id) };
}

/**
 * Reads the schemas.
 *
 * @param headers with credentials, which are sent to no other host
 * @throws NotReadable
 */
export async function readSchemas(
  { collection, bucket }: CollectionAddress,
  headers: Readonly<Record<string, string>>,
): Promise<RecordSchemas> {
  const { schema, last_modified: lastModified } = await readObject(collection, headers);
  let ofBucket: unknown;
  try {
    ofBucket = (await readObject(bucket, headers))['record:schema'];
  } catch (error) {
    // A caller may read the collection alone.
    if (!(error instanceof NotReadable)) throw error;
  }
  return { schema, lastModified: typeof lastModified === 'number' ? lastModified : undefined, ofBucket };
}

const timeoutMs = 30_000;
const maxRedirects = 5;
const maxBytes = 2 ** 26;

async function readObject(
  address: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await request(address, headers);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new NotReadable(`${address.href} responded ${status} without JSON: is it the address of a collection?`);
  }
  const { data, message } = (body ?? {}) as { readonly data?: unknown; readonly message?: unknown };
  if (status === 200 && typeof data === 'object' && data !== null) return data as Readonly<Record<string, unknown>>;
  const reason = typeof message === 'string' ? `: ${message}` : '';
  const advice = status === 401 || status === 403 ? ' Give credentials of a reader with --auth or --bearer.' : '';
  throw new NotReadable(`${address.href} responded ${status}${reason}${advice}`);
}

async function request(
  address: URL,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const signal = AbortSignal.timeout(timeoutMs);
  let url = address;
  for (let hops = 0; hops <= maxRedirects; hops += 1) {
    let response: Response;
    try {
      response = await fetch(url, { headers: { accept: 'application/json', ...headers }, redirect: 'manual', signal });
    } catch (error) {
      const { cause, message } = error as Error;
      throw new NotReadable(`${url.href} is out of reach (${cause instanceof Error ? cause.message : message})`, {
        cause: error,
      });
    }
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) {
      return { status: response.status, text: await readText(response, url) };
    }
    await response.body?.cancel();
    const next = new URL(location, url);
    if (next.origin !== url.origin) {
      throw new NotReadable(`${url.href} redirects to ${next.origin}; if that is intended, use that address`);
    }
    url = next;
  }
  throw new NotReadable(`${address.href} redirects in circles`);
}

async function readText(response: Response, url: URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) throw new NotReadable(`${url.href} responded with more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof NotReadable) throw error;
    throw new NotReadable(`${url.href} did not respond completely (${(error as Error).message})`, { cause: error });
  }
  return Buffer.concat(chunks).toString('utf8');
}
