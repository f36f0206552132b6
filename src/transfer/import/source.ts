// A running server as the source of an import: its root view, its lists page by page, and its objects with permissions.
import { getKey, isJsonObject, JsonSyntaxError, type JsonObject, type JsonValue } from '../../base/json.ts';
import { findExcess } from '../../base/json-text.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import { parseEtag } from '../../core/objects/etag.ts';
import { isImportedTimestamp } from '../../core/objects/timestamps.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { parseAnswer, readEntries, readPermissions, type Unfit } from './entries.ts';
import type { SourceList } from './lists.ts';
import { Paging } from './paging.ts';
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
  /** Clock of the list when the page was read; `undefined` when it cannot be stored. */
  readonly timestamp: number | undefined;
  /** In ascending order of timestamps. */
  readonly entries: readonly (StoredEntry | Unfit)[];
}

export interface SourceState {
  /** Clock of the list; `undefined` when it cannot be stored. */
  readonly timestamp: number | undefined;
  /** Number of live objects; `undefined` when the server does not report it. */
  readonly total: number | undefined;
}

/** The response to a request for one object. */
export type SourceObject =
  | { readonly is: 'there'; readonly lastModified: number; readonly permissions: ObjectPermissions | undefined }
  | { readonly is: 'missing' }
  | { readonly is: 'hidden'; readonly status: number };

const pageSize = 200;
const inOrder = `_sort=last_modified,id&_limit=${pageSize}`;
/** Maximum number of JSON values in a response. A small text can hold many, each of which takes much more memory. */
const maxValues = 10_000_000;
const defaultBatchSize = 25;

/** The source has purged tombstones since the given timestamp. */
export class ChangesForgotten extends Error {}

/** The source does not show a list to this user. */
export class ListHidden extends ImportRefused {}

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
    const isCount = total !== undefined && /^\d{1,15}$/.test(total);
    return { timestamp: timestampOf(answer, list.name), total: isCount ? Number(total) : undefined };
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
    for await (const { answer, entries } of this.#walk(list.path, list.name, `?${window}&${inOrder}`)) {
      if (answer.status === 410 && since !== undefined) throw new ChangesForgotten(list.name);
      if (answer.status !== 200) throw refusal(list.name, answer);
      yield { timestamp: timestampOf(answer, list.name), entries };
    }
  }

  /** Returns the visible objects of a list. */
  async listAll(path: string): Promise<readonly (StoredEntry | Unfit)[] | 'hidden'> {
    const found: (StoredEntry | Unfit)[] = [];
    for await (const { answer, entries } of this.#walk(path, `/${path}`, `?${inOrder}`)) {
      if (answer.status === 401 || answer.status === 403 || answer.status === 404) return 'hidden';
      if (answer.status !== 200) throw refusal(`/${path}`, answer);
      for (const entry of entries) found.push(entry);
    }
    return found;
  }

  /** Yields the responses to the requests for the pages of a list, whatever their status. */
  async *#walk(path: string, name: string, first: string): AsyncGenerator<Page> {
    const paging = new Paging(name, this.#root);
    let query: string | undefined = first;
    while (query !== undefined) {
      const answer: Answer = await this.#transport.request({ method: 'GET', path: path + query }, keepJson);
      const entries = entriesOf(answer, name);
      yield { answer, entries };
      query = paging.next(answer, entries);
    }
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
      const entries = status === 200 && body !== undefined ? getKey(body, 'data') : undefined;
      const entry = Array.isArray(entries) ? (entries[0] as JsonValue | undefined) : undefined;
      const target = entry === undefined || !isJsonObject(entry) ? undefined : objectAt(entry, 'target');
      const data = target === undefined ? undefined : objectAt(target, 'data');
      if (data === undefined || getKey(data, 'last_modified') !== wanted[index]!.lastModified) return undefined;
      return readPermissions(getKey(target!, 'permissions'));
    });
  }

  async #get(path: string, name: string): Promise<JsonObject> {
    const answer = await this.#transport.request({ method: 'GET', path }, keepJson);
    if (answer.status !== 200) throw refusal(name, answer);
    try {
      return parseAnswer(answer.text);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError) && !(error instanceof BrokenAnswer)) throw error;
      throw new ImportRefused(`${name} of the source cannot be read: ${error.message}`, { cause: error });
    }
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

interface Page {
  readonly answer: Answer;
  readonly entries: readonly (StoredEntry | Unfit)[];
}

/** Returns the entries in the response of a list; only a success has any. */
function entriesOf({ status, text }: Answer, name: string): Page['entries'] {
  if (status !== 200) return [];
  try {
    return readEntries(text);
  } catch (error) {
    if (!(error instanceof BrokenAnswer)) throw error;
    // The response is complete: another request would have the same response.
    throw new ImportRefused(`${name}: ${error.message}`, { cause: error });
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
    if (answer.text.length >= maxValues && findExcess(answer.text, { maxDepth: Infinity, maxValues }) !== undefined) {
      throw new ImportRefused(`a response of the source has more than ${maxValues} JSON values`);
    }
    try {
      JSON.parse(answer.text);
    } catch (error) {
      throw new BrokenAnswer('the response is not JSON', { cause: error });
    }
  }
  return answer;
}

/** Returns the clock in the response; `undefined` when it cannot be stored. */
function timestampOf({ headers }: Answer, name: string): number | undefined {
  const timestamp = parseEtag(headers['etag'] ?? '');
  if (timestamp === undefined) throw new ImportRefused(`${name}: the response of the source has no timestamp (ETag)`);
  return isImportedTimestamp(timestamp) ? timestamp : undefined;
}

function refusal(name: string, { status, text }: Answer): ImportRefused {
  const message = /"message":\s*"([^"]{1,200})/.exec(text)?.[1];
  const sentence = `${name}: the source responded ${status}${message === undefined ? '' : ` (${message.replaceAll(/\s+/g, ' ')})`}`;
  const isHidden = status === 401 || status === 403;
  return isHidden ? new ListHidden(`${sentence}; use credentials that can read it`) : new ImportRefused(sentence);
}
