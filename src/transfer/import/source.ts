// A running server as the source of an import: its root view, its lists page by page, and its objects with permissions.
import { getKey, isJsonObject, JsonSyntaxError, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { isTombstone, type StoredEntry } from '../../core/objects/stored.ts';
import { parseEtag } from '../../core/objects/etag.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { dataOf, isUnfit, parseAnswer, readEntry, readPermissions, type Unfit } from './entries.ts';
import type { SourceList } from './lists.ts';
import { BrokenAnswer, ImportRefused, Transport, type Answer, type TransportOptions } from './transport.ts';

/** The root view: facts about the server and the caller. */
export interface SourceRoot {
  readonly product: string;
  readonly userId: string | undefined;
  readonly bucketId: string | undefined;
  readonly capabilities: ReadonlySet<string>;
  readonly isReadonly: boolean;
}

export interface SourcePage {
  /** Clock of the list when the page was read. */
  readonly timestamp: number;
  /** In ascending order of timestamps. */
  readonly entries: readonly (StoredEntry | Unfit)[];
}

export interface SourceState {
  readonly timestamp: number;
  /** Number of live objects; `undefined` when the server does not report it. */
  readonly total: number | undefined;
}

/** The response to a request for one object. */
export type SourceObject =
  | { readonly is: 'there'; readonly lastModified: number; readonly permissions: ObjectPermissions | undefined }
  | { readonly is: 'missing' }
  | { readonly is: 'hidden'; readonly status: number };

const pageSize = 200;
const defaultBatchSize = 25;

/** The source has purged tombstones since the given timestamp. */
export class ChangesForgotten extends Error {}

export class Source {
  readonly #transport: Transport;
  readonly #root: string;
  readonly #authorization: string | undefined;
  readonly #concurrency: number;
  #batchSize = defaultBatchSize;
  #capabilities: ReadonlySet<string> = new Set();

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
    this.#root = options.root.href;
    this.#authorization = options.headers['authorization'];
    this.#concurrency = options.concurrency;
  }

  close(): void {
    this.#transport.close();
  }

  /** Whether the server keeps a history, which contains permissions that are not shown elsewhere. */
  get hasHistory(): boolean {
    return this.#capabilities.has('history');
  }

  /** @throws ImportRefused when this is not a server of the protocol, or it refuses the credentials */
  async readRoot(): Promise<SourceRoot> {
    const body = await this.#get('', 'the root view');
    const [settings, user, capabilities] = ['settings', 'user', 'capabilities'].map((key) => objectAt(body, key));
    if (getKey(body, 'http_api_version') === undefined || settings === undefined) {
      throw new ImportRefused(`${this.#root} is not the root of an API; it usually ends in /v1`);
    }
    const most = getKey(settings, 'batch_max_requests');
    if (typeof most === 'number' && most >= 0) this.#batchSize = most === 0 ? defaultBatchSize : Math.min(most, 100);
    this.#capabilities = new Set(Object.keys(capabilities ?? {}));
    const userId = user === undefined ? undefined : textAt(user, 'id');
    if (this.#authorization !== undefined && userId === undefined) {
      throw new ImportRefused(`${this.#root} refused these credentials`);
    }
    return {
      product: [textAt(body, 'project_name'), textAt(body, 'project_version')].filter(Boolean).join(' '),
      userId,
      bucketId: user === undefined ? undefined : textAt(user, 'bucket'),
      capabilities: this.#capabilities,
      isReadonly: getKey(settings, 'readonly') === true,
    };
  }

  /** Returns the clock and the number of objects; `undefined` when the list, or its parent, does not exist. */
  async state(list: SourceList): Promise<SourceState | undefined> {
    const answer = await this.#transport.request({ method: 'HEAD', path: list.path }, (given) => given);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw refusal(list.name, answer);
    const total = answer.headers['total-objects'] ?? answer.headers['total-records'];
    return { timestamp: timestampOf(answer, list.name), total: total === undefined ? undefined : Number(total) };
  }

  /**
   * Yields all objects and tombstones that changed after a timestamp, oldest first, so that concurrent changes come at the
   * end.
   *
   * @throws ChangesForgotten when the source no longer has all of them
   */
  async *pages(list: SourceList, since: number | undefined): AsyncGenerator<SourcePage> {
    // A filter on the timestamp includes tombstones; `_since=0` would leave out the timestamp 0.
    const window = since === undefined ? 'min_last_modified=0' : `_since=${since}`;
    let query: string | undefined = `?${window}&_sort=last_modified,id&_limit=${pageSize}`;
    while (query !== undefined) {
      const path: string = list.path + query;
      const answer: Answer = await this.#transport.request({ method: 'GET', path }, keepJson);
      if (answer.status === 410 && since !== undefined) throw new ChangesForgotten(list.name);
      if (answer.status !== 200) throw refusal(list.name, answer);
      const entries = await this.#readEntries(list, answer.text);
      yield { timestamp: timestampOf(answer, list.name), entries };
      query = nextQuery(answer, this.#root);
    }
  }

  /** Returns the visible objects of a list. */
  async listAll(path: string): Promise<readonly JsonObject[] | 'hidden'> {
    const found: JsonObject[] = [];
    let query: string | undefined = `?_limit=${pageSize}`;
    while (query !== undefined) {
      const sent = { method: 'GET', path: path + query } as const;
      const answer: Answer = await this.#transport.request(sent, keepJson);
      if (answer.status === 401 || answer.status === 403 || answer.status === 404) return 'hidden';
      if (answer.status !== 200) throw refusal(`/${path}`, answer);
      for (const value of dataOf(parseAnswer(answer.text))) if (isJsonObject(value)) found.push(value);
      query = nextQuery(answer, this.#root);
    }
    return found;
  }

  /** Requests objects by their addresses, in the order of the ids; many in one request where the server has batches. */
  async objects(list: SourceList, ids: readonly string[]): Promise<readonly SourceObject[]> {
    const paths = ids.map((id) => `${list.path}/${encodeURIComponent(id)}`);
    return (await this.#getAll(paths)).map(readObject);
  }

  /**
   * Returns the permissions of objects in their present state from the history; `undefined` where it has none.
   *
   * @param wanted URIs, and the timestamps of the state
   */
  async permissionsInHistory(
    bucket: string,
    wanted: readonly { readonly uri: ObjectUri; readonly lastModified: number }[],
  ): Promise<readonly (ObjectPermissions | undefined)[]> {
    const paths = wanted.map(
      ({ uri }) =>
        `buckets/${encodeURIComponent(bucket)}/history?uri=${encodeURIComponent(JSON.stringify(uri))}&_limit=1`,
    );
    const answers = await this.#getAll(paths);
    return answers.map(({ status, body }, index) => {
      const [entry] = status === 200 && body !== undefined ? dataOf(body) : [];
      const target = entry === undefined || !isJsonObject(entry) ? undefined : objectAt(entry, 'target');
      const data = target === undefined ? undefined : objectAt(target, 'data');
      if (data === undefined || getKey(data, 'last_modified') !== wanted[index]!.lastModified) return undefined;
      return readPermissions(getKey(target!, 'permissions'));
    });
  }

  /** Reads a page again one object at a time, to name those that cannot be stored. */
  async #readEntries(list: SourceList, text: string): Promise<readonly (StoredEntry | Unfit)[]> {
    try {
      return dataOf(parseAnswer(text)).map(readEntry);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
    }
    const plain = (JSON.parse(text) as { readonly data: readonly JsonValue[] }).data;
    const entries: (StoredEntry | Unfit)[] = [];
    for (const value of plain) {
      const entry = readEntry(value);
      const isObject = !isUnfit(entry) && !isTombstone(entry) && list.hasObjects;
      const found = isObject ? await this.#readOne(list, entry.id, entry.lastModified) : entry;
      if (found !== undefined) entries.push(found);
    }
    return entries;
  }

  async #readOne(list: SourceList, id: string, lastModified: number): Promise<StoredEntry | Unfit | undefined> {
    const sent = { method: 'GET', path: `${list.path}/${encodeURIComponent(id)}` } as const;
    const answer = await this.#transport.request(sent, keepJson);
    // Deleted or hidden since: the list will show it.
    if (answer.status !== 200) return undefined;
    try {
      const data = objectAt(parseAnswer(answer.text), 'data');
      return data === undefined ? undefined : readEntry(data);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      const where = error.path === undefined ? '' : ` (${error.path})`;
      return { id, lastModified, reason: `${error.message}${where}` };
    }
  }

  async #get(path: string, name: string): Promise<JsonObject> {
    const answer = await this.#transport.request({ method: 'GET', path }, keepJson);
    if (answer.status !== 200) throw refusal(name, answer);
    return parseAnswer(answer.text);
  }

  async #getAll(paths: readonly string[]): Promise<readonly Single[]> {
    const found: Single[] = [];
    while (found.length < paths.length) {
      const size = this.#batchSize > 1 ? this.#batchSize : this.#concurrency;
      const part = paths.slice(found.length, found.length + size);
      const batch = part.length > 1 && this.#batchSize > 1 ? await this.#getBatch(part) : undefined;
      // One by one: without batches, as at a read-only server, or when a response has to be requested again.
      found.push(...(await Promise.all(part.map(async (path, index) => batch?.[index] ?? (await this.#getOne(path))))));
    }
    return found;
  }

  async #getOne(path: string): Promise<Single> {
    const answer = await this.#transport.request({ method: 'GET', path }, keepJson);
    try {
      return { status: answer.status, body: answer.status === 200 ? parseAnswer(answer.text) : undefined };
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      // The object cannot be stored, which is reported elsewhere. Only its permissions are needed here.
      return { status: answer.status, body: undefined };
    }
  }

  async #getBatch(paths: readonly string[]): Promise<readonly (Single | undefined)[] | undefined> {
    const headers = this.#authorization === undefined ? {} : { Authorization: this.#authorization };
    const requests = paths.map((path) => ({ path: `/${path}` }));
    const body = JSON.stringify({ defaults: { method: 'GET', headers }, requests });
    const answer = await this.#transport.request({ method: 'POST', path: 'batch', body }, keepJson);
    if (answer.status !== 200) {
      this.#batchSize = 1;
      return undefined;
    }
    let responses: JsonValue | undefined;
    try {
      responses = getKey(parseAnswer(answer.text), 'responses');
    } catch (error) {
      if (error instanceof JsonSyntaxError) return undefined;
      throw error;
    }
    if (!Array.isArray(responses) || responses.length !== paths.length) return undefined;
    return (responses as readonly JsonValue[]).map(readSingle);
  }
}

interface Single {
  readonly status: number;
  readonly body: JsonObject | undefined;
}

/** Returns one response of a batch; `undefined` when it has to be requested again. */
function readSingle(value: JsonValue): Single | undefined {
  if (!isJsonObject(value)) return undefined;
  const status = getKey(value, 'status');
  if (typeof status !== 'number' || status === 429 || status >= 500) return undefined;
  return { status, body: objectAt(value, 'body') };
}

function readObject({ status, body }: Single): SourceObject {
  if (status === 404 || status === 410) return { is: 'missing' };
  const data = status === 200 && body !== undefined ? objectAt(body, 'data') : undefined;
  const lastModified = data === undefined ? undefined : getKey(data, 'last_modified');
  if (typeof lastModified !== 'number') return { is: 'hidden', status };
  return { is: 'there', lastModified, permissions: readPermissions(getKey(body!, 'permissions')) };
}

function objectAt(object: JsonObject, key: string): JsonObject | undefined {
  const value = getKey(object, key);
  return value !== undefined && isJsonObject(value) ? value : undefined;
}

function textAt(object: JsonObject, key: string): string | undefined {
  const value = getKey(object, key);
  return typeof value === 'string' ? value : undefined;
}

/** Throws for a response that was cut off, so that it is requested again. */
function keepJson(answer: Answer): Answer {
  if (answer.status === 200) {
    try {
      JSON.parse(answer.text);
    } catch (error) {
      throw new BrokenAnswer('the response is not JSON', { cause: error });
    }
  }
  return answer;
}

/** Returns the query of `Next-Page`. Its host is ignored: a server behind a proxy may not know its public name. */
function nextQuery({ headers }: Answer, root: string): string | undefined {
  const next = headers['next-page'];
  if (next === undefined || next === '') return undefined;
  return new URL(next, root).search;
}

function timestampOf({ headers }: Answer, name: string): number {
  const timestamp = parseEtag(headers['etag'] ?? '');
  if (timestamp === undefined) throw new ImportRefused(`${name}: the response of the source has no timestamp (ETag)`);
  return timestamp;
}

function refusal(name: string, { status, text }: Answer): ImportRefused {
  const message = /"message":\s*"([^"]{1,200})/.exec(text)?.[1];
  const advice = status === 401 || status === 403 ? '; use credentials that can read it' : '';
  return new ImportRefused(
    `${name}: the source responded ${status}${message === undefined ? '' : ` (${message})`}${advice}`,
  );
}
