// Pages of lists as clients see them, of which those are kept that were asked for last: fleets ask for the same.
import { GenerationCache } from '../../base/generation-cache.ts';
import type { Steps } from '../../base/steps.ts';
import type { PageText } from '../../contracts/storage.ts';
import { joinPage, type JoinedEntries } from '../../core/objects/page-text.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import { timeRangeKey } from '../../core/query/time-range-key.ts';
import type { ListTable, ObjectList } from './list-table.ts';
import { selectPage } from './select.ts';

/** Characters of all of them. */
const maxChars = 16_000_000;

interface Kept {
  /** Of the list, when it was read. */
  readonly version: number;
  readonly page: JoinedEntries;
}

export class PageTexts {
  readonly #table: ListTable;
  readonly #kept = new GenerationCache<Kept>(maxChars);

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

  *#readEntries(list: ObjectList, query: PageQuery): Steps<JoinedEntries> {
    const indexRange = timeRangeKey(query);
    const { kind, parent, contents, version } = list;
    if (indexRange === undefined) return joinPage(yield* selectPage(contents, query), query.maxBytes);
    const key = `${kind} ${parent} ${indexRange}`;
    const known = this.#kept.get(key);
    if (known?.version === version) return known.page;
    const page = joinPage(yield* selectPage(contents, query), query.maxBytes);
    this.#kept.set(key, { version, page }, key.length + page.text.length);
    return page;
  }
}
