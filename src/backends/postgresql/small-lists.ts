// The objects of small lists that are filtered or sorted by attributes, cached in this process. Each read asks the database
// for the version of the list, so other processes may write at any time.
import { ByteCache } from '../../base/byte-cache.ts';
import { runFromNow } from '../../base/steps.ts';
import type { Page } from '../../contracts/storage.ts';
import { keyOfList } from '../../core/lists/list-key.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import {
  maxListPart,
  maxSmallBytes,
  maxSmallObjects,
  readsAttributesOfPage,
  readsAttributesOfSelection,
  SmallList,
} from '../sql/small-list.ts';
import { batchableQuery, type BatchableQuery, type BatchValue } from './batchable-query.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import { pageColumns, readListState, readPageText } from './page-text.ts';

// Every transaction that changes a list writes its row, and `xmin` names the last one that did.
const versionSql = `l.list || ' ' || l.xmin::text || ' ' || l.clock || ' ' || l.live`;
const ofList = 'FROM coffer_lists l';
const readVersion = batchableQuery(
  'read-list-version',
  `SELECT l.clock, l.horizon, l.live, ${versionSql} ${ofList} WHERE l.parent = $1::text AND l.kind = $2::text`,
);
const ofObjects = 'FROM coffer_objects e WHERE e.parent = $1 AND e.list = l.list';
const readContents = prepared(
  'read-list-contents',
  `SELECT l.clock, l.horizon, k.*, ${versionSql} ${ofList}
  CROSS JOIN LATERAL (SELECT ${pageColumns} FROM (SELECT e.id, e.last_modified, e.data ${ofObjects}) k) k
  WHERE l.parent = $1 AND l.kind = $2 AND l.live <= ${maxSmallObjects}
    AND (SELECT coalesce(sum(octet_length(e.data)), 0) ${ofObjects}) <= ${maxSmallBytes}`,
);

/** Access to committed state. */
interface Access {
  run(statement: Statement, values: readonly SqlValue[]): Promise<Result>;
  ask(query: BatchableQuery, values: readonly BatchValue[]): Promise<readonly Row[]>;
}

/** Length of the objects of a small list together, in bytes, of which scans cannot take long. */
const maxScannedBytes = 1_000_000;
// The length of a text is known without reading it.
const readIsSmall = batchableQuery(
  'read-is-small',
  `SELECT CASE WHEN l.live > ${maxSmallObjects} OR l.dead > ${maxSmallObjects} THEN 0
    WHEN (
      SELECT coalesce(sum(octet_length(e.data)), 0) FROM coffer_objects e WHERE e.parent = l.parent AND e.list = l.list
    ) > ${maxScannedBytes} THEN 0 ELSE 1 END
  ${ofList} WHERE l.parent = $1::text AND l.kind = $2::text`,
);

/** Whether the list has so few and short objects that its scans are short. */
export async function isSmallList(access: Pick<Access, 'ask'>, { parent, kind }: ListKey): Promise<boolean> {
  const [row] = await access.ask(readIsSmall, [parent, kind]);
  return row?.[0] === '1';
}

/** A version of a list, and what was read of it. */
interface Cached {
  readonly version: string;
  /** Its live objects, or why there are none: the list was queried once only, or its texts are long. */
  readonly objects: SmallList | 'seen' | 'long';
}

/** Bytes of an entry of the cache besides its objects. */
const bytesOfEntry = 200;

type State = Pick<Page, 'timestamp' | 'horizon'>;

/** The objects of a list, with its state at the same moment. */
interface Contents {
  readonly state: State;
  readonly objects: SmallList;
}

export class SmallLists {
  readonly #cache: ByteCache<Cached>;
  /** Reads of contents under way, by list and version. */
  readonly #reading = new Map<string, Promise<Contents | undefined>>();

  /** @param maxBytes approximate size of the cache */
  constructor(maxBytes: number) {
    this.#cache = new ByteCache(maxBytes, maxListPart);
  }

  /**
   * Returns the page of a query that no declared index delivers, if the list is small and was not changed lately, else
   * `undefined`.
   */
  async selectPage(access: Access, list: ListKey, query: PageQuery): Promise<Page | undefined> {
    const contents = readsAttributesOfPage(query) ? await this.#contentsOf(access, list) : undefined;
    return contents && { ...contents.state, ...(await runFromNow(contents.objects.selectPage(query), 'normal')) };
  }

  /** Returns the number of selected objects if the list is small and was not changed lately, else `undefined`. */
  async count(access: Access, list: ListKey, selection: Selection): Promise<number | undefined> {
    const contents = readsAttributesOfSelection(selection) ? await this.#contentsOf(access, list) : undefined;
    return contents && runFromNow(contents.objects.count(selection), 'normal');
  }

  async #contentsOf(access: Access, list: ListKey): Promise<Contents | undefined> {
    const [row] = await access.ask(readVersion, [list.parent, list.kind]);
    const found = row?.[3];
    if (row === undefined || typeof found !== 'string' || Number(row[2]) > maxSmallObjects) return undefined;
    const key = keyOfList(list);
    const known = this.#cache.get(key);
    if (known?.version !== found) {
      // To read all objects takes longer than one query. So they are read for the second query of a version.
      this.#cache.set(key, { version: found, objects: 'seen' }, key.length + bytesOfEntry);
      return undefined;
    }
    if (known.objects === 'long') return undefined;
    if (known.objects !== 'seen') return { state: readListState(row), objects: known.objects };
    return this.#read(access, list, found);
  }

  /** Reads the objects once for all queries that wait for them. */
  #read(access: Access, list: ListKey, asked: string): Promise<Contents | undefined> {
    const name = `${asked} ${keyOfList(list)}`;
    const underWay = this.#reading.get(name);
    if (underWay !== undefined) return underWay;
    const reading = this.#readContents(access, list, asked).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #readContents(access: Access, list: ListKey, asked: string): Promise<Contents | undefined> {
    const { rows } = await access.run(readContents, [list.parent, list.kind]);
    const key = keyOfList(list);
    const size = key.length + bytesOfEntry;
    const contents = contentsIn(rows[0]);
    if (contents !== undefined) this.#cache.set(key, contents, size + contents.objects.bytes);
    // Without an entry the cache is too small for them.
    if (this.#cache.get(key) === undefined || contents === undefined) {
      this.#cache.set(key, { version: asked, objects: 'long' }, size);
    }
    return contents;
  }
}

/** Reads the row of `readContents`; `undefined` when it is absent, or has a text that is too long. */
function contentsIn(row: Row | undefined): (Contents & { readonly version: string }) | undefined {
  const version = row?.[6];
  const page = row && readPageText(row, { limit: maxSmallObjects });
  if (typeof version !== 'string' || page === undefined) return undefined;
  const { timestamp, horizon, entries } = page;
  return {
    version,
    state: { timestamp, horizon },
    objects: new SmallList(entries.filter((entry) => entry instanceof StoredObject)),
  };
}
