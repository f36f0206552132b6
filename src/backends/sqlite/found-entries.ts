// The entries of a page as they are read, row by row. Texts that do not fit on the page are not read.
import { PageFill } from '../../core/objects/page-text.ts';
import { charsOf, StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import type { Condition } from './filter-sql.ts';
import { maxRows, type TableName } from './selection.ts';
import { countRead } from './turn-reads.ts';

/** `data` is the row number for a text that is too long to be read before it is known to be on the page. */
export type EntryRow = [id: string, lastModified: number, data: string | number | null];

/** Collects the entries of rows until they fill the page. */
export class FoundEntries {
  readonly entries: StoredEntry[] = [];
  readonly #connection: Connection;
  readonly #fill: PageFill;

  constructor(connection: Connection, maxBytes: number | undefined) {
    this.#connection = connection;
    this.#fill = new PageFill(maxBytes);
  }

  get isFull(): boolean {
    return this.#fill.isFull;
  }

  add(rows: readonly EntryRow[]): void {
    for (const [id, lastModified, data] of rows) {
      if (this.#fill.isFull) return;
      const entry: StoredEntry =
        data === null
          ? { id, lastModified, deleted: true }
          : new StoredObject(id, lastModified, typeof data === 'string' ? data : this.#readText(data));
      this.#fill.add(entry);
      countRead(charsOf(entry));
      this.entries.push(entry);
    }
  }

  #readText(object: number): string {
    return this.#connection.get<[string]>('SELECT data FROM objects WHERE object = ?', object)![0];
  }
}

/** Texts up to this length are always read with their rows. */
const leastInlineBytes = 1024;

/**
 * Returns the length up to which the texts of `rows` rows are read with them, so that together they do not exceed a page.
 */
export function inlineBytes(rows: number, maxBytes: number | undefined): number | undefined {
  if (maxBytes === undefined) return undefined;
  return Math.max(leastInlineBytes, Math.floor(maxBytes / Math.min(Math.max(1, rows), maxRows)));
}

/** Returns the expression for the text of an entry, or for its row number when the text is too long. */
export function dataOf(table: TableName, inline: number | undefined): Condition {
  if (table === 'tombstones') return { sql: 'NULL', parameters: [] };
  if (inline === undefined) return { sql: 'e.data', parameters: [] };
  return { sql: 'CASE WHEN octet_length(e.data) <= ? THEN e.data ELSE e.object END', parameters: [inline] };
}
