// The objects of small lists that are filtered or sorted by attributes, cached in this process by the versions of the lists.
// Each read asks the database for the version of the list, so other processes may write at any time.
import { ByteCache } from '../../base/byte-cache.ts';
import { runFromNow } from '../../base/steps.ts';
import type { EntryPage } from '../objects/page-text.ts';
import type { StoredObject } from '../objects/stored.ts';
import type { PageQuery, Selection } from '../query/ast.ts';
import { maxListPart, readsAttributesOfPage, readsAttributesOfSelection, type SmallList } from '../query/small-list.ts';

/** A version of a list, with the timestamps that its pages report. */
export interface ListVersion {
  /** Differs whenever the objects of the list do. */
  readonly version: string;
  readonly timestamp: number | undefined;
  readonly horizon: number;
}

/** The live objects of a list in one version. */
export interface ListContents extends ListVersion {
  readonly objects: SmallList;
}

/** Reads one list from the database. */
export interface ListSource {
  /** Name of the list. */
  readonly key: string;
  /** Returns the present version; `undefined` when the list has none, or too many objects. */
  readVersion(): Promise<ListVersion | undefined>;
  /** Returns the live objects; `undefined` when they are too many or too long. */
  readContents(): Promise<ListContents | undefined>;
}

type Page = EntryPage<StoredObject> & Pick<ListVersion, 'timestamp' | 'horizon'>;

/** A version of a list, as far as it was read. */
interface Cached {
  readonly version: string;
  /** Its live objects, or why there are none: the list was queried once only, or its objects are too long. */
  readonly objects: SmallList | 'seen' | 'long';
}

/** Bytes of an entry of the cache besides its objects. */
const bytesOfEntry = 200;
const defaultBytes = 33_554_432;

/**
 * Creates the cache of a process.
 *
 * @param maxBytes approximate size; 0: none, and `undefined` is returned
 */
export function createSmallLists(maxBytes = defaultBytes): SmallLists | undefined {
  return maxBytes === 0 ? undefined : new SmallLists(maxBytes);
}

export class SmallLists {
  readonly #cache: ByteCache<Cached>;
  /** Reads of contents under way, by list and version. */
  readonly #reading = new Map<string, Promise<ListContents | undefined>>();

  constructor(maxBytes: number) {
    this.#cache = new ByteCache(maxBytes, maxListPart);
  }

  /** Returns the page of a query that reads attributes, if the list is small and was not changed lately, else `undefined`. */
  async selectPage(source: ListSource, query: PageQuery): Promise<Page | undefined> {
    // Reports are about indexes.
    const isCached = query.report === undefined && readsAttributesOfPage(query);
    const contents = isCached ? await this.#contentsOf(source) : undefined;
    if (contents === undefined) return undefined;
    const { timestamp, horizon, objects } = contents;
    return { timestamp, horizon, ...(await runFromNow(objects.selectPage(query), 'normal')) };
  }

  /** Returns the number of objects, if attributes decide, and the list is small and was not changed lately, else `undefined`. */
  async count(source: ListSource, selection: Selection): Promise<number | undefined> {
    const isCached = selection.report === undefined && readsAttributesOfSelection(selection);
    const contents = isCached ? await this.#contentsOf(source) : undefined;
    return contents && runFromNow(contents.objects.count(selection), 'normal');
  }

  async #contentsOf(source: ListSource): Promise<ListContents | undefined> {
    const found = await source.readVersion();
    if (found === undefined) return undefined;
    const { key } = source;
    const known = this.#cache.get(key);
    if (known?.version !== found.version) {
      // To read all objects takes longer than one query. So they are read for the second query of a version.
      this.#cache.set(key, { version: found.version, objects: 'seen' }, key.length + bytesOfEntry);
      return undefined;
    }
    if (known.objects === 'long') return undefined;
    if (known.objects !== 'seen') return { ...found, objects: known.objects };
    return this.#read(source, found.version);
  }

  /** Reads the objects once for all queries that wait for them. */
  #read(source: ListSource, asked: string): Promise<ListContents | undefined> {
    const name = `${asked} ${source.key}`;
    const underWay = this.#reading.get(name);
    if (underWay !== undefined) return underWay;
    const reading = this.#readContents(source, asked).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #readContents(source: ListSource, asked: string): Promise<ListContents | undefined> {
    const contents = await source.readContents();
    const { key } = source;
    const size = key.length + bytesOfEntry;
    if (contents !== undefined) {
      const { version, objects } = contents;
      this.#cache.set(key, { version, objects }, size + objects.bytes);
    }
    // Without an entry the cache is too small for them.
    if (this.#cache.get(key) === undefined || contents === undefined) {
      this.#cache.set(key, { version: asked, objects: 'long' }, size);
    }
    return contents;
  }
}
