// The order of the lines of an export: each list once, parents first, with its entries in the order of their timestamps. So no
// two ids of a list have one timestamp, which no backend has to check.
import { compareLists } from '../../core/objects/list-order.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ExportLine } from './lines.ts';

/** Returns the name of a list in messages. */
export function nameOf({ kind, parent }: ListKey): string {
  return `the ${kind} list of ${parent === '' ? 'the root' : parent}`;
}

/** Checks lines one after the other. */
export class LineOrder {
  #list: ListKey | undefined;
  #isInList = false;
  #newest = -1;

  /** Returns why a line cannot follow those before, or `undefined`. */
  findFault(line: ExportLine): string | undefined {
    const { is } = line;
    if (is === 'entry') {
      if (!this.#isInList) return 'an entry comes before its list';
      const { id, lastModified } = line.entry;
      if (lastModified <= this.#newest) {
        return `the entry ${id} is not in the order of timestamps: ${lastModified} comes after ${this.#newest}`;
      }
      this.#newest = lastModified;
      return undefined;
    }
    if (is === 'end') {
      if (!this.#isInList) return 'the end of a list comes before its start';
      this.#isInList = false;
      return undefined;
    }
    if (this.#isInList) return 'the end of the list before is missing';
    if (is !== 'list') return undefined;
    if (this.#list !== undefined && compareLists(this.#list, line.list) >= 0) {
      return `${nameOf(line.list)} comes twice, or not in the order of parents and kinds`;
    }
    this.#list = line.list;
    this.#isInList = true;
    this.#newest = -1;
    return undefined;
  }
}
