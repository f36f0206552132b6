// Cache of the most recently requested pages as response text: many clients request the same pages.
import { ByteCache } from '../../base/byte-cache.ts';
import type { Steps } from '../../base/steps.ts';
import type { PageText } from '../../contracts/storage.ts';
import { joinPage, type JoinedEntries } from '../../core/objects/page-text.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import { planPage, timeRangeKey } from '../../core/query/plan-page.ts';
import type { ListTable, ObjectList } from './list-table.ts';
import { selectPage } from './select.ts';

/** Characters of all cached pages together. */
const maxChars = 16_000_000;

interface CachedPage {
  /** Version of the list that was read. */
  readonly version: number;
  readonly page: JoinedEntries;
}

export class PageTexts {
  readonly #table: ListTable;
  readonly #cached = new ByteCache<CachedPage>(maxChars);

  constructor(table: ListTable) {
    this.#table = table;
  }

  *read(key: ListKey, query: PageQuery): Steps<PageText> {
    const list = this.#table.find(key);
    if (list === undefined)
      return { timestamp: undefined, horizon: 0, text: '', count: 0, last: undefined, more: false };
    const { clock: timestamp, horizon } = list;
    return { timestamp, horizon, ...(yield* this.#readEntries(list, query)) };
  }

  *#readEntries({ kind, parent, contents, version }: ObjectList, query: PageQuery): Steps<JoinedEntries> {
    const rangeKey = timeRangeKey(planPage(query));
    const key = rangeKey && `${kind} ${parent} ${rangeKey}`;
    const cached = (): JoinedEntries | undefined => {
      const known = key && this.#cached.get(key);
      return known && known.version === version ? known.page : undefined;
    };
    const known = cached();
    if (known !== undefined) return known;
    const selected = yield* selectPage(contents, query);
    // Of readers that have asked in parallel, the first one joins the page for all.
    const joined = cached();
    if (joined !== undefined) return joined;
    const page = yield* joinPage(selected, query.maxBytes);
    if (key !== undefined) this.#cached.set(key, { version, page }, key.length + page.text.length);
    return page;
  }
}
