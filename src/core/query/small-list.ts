// Small lists that are filtered or sorted by attributes. Their parsed objects are cached, because a database would parse the
// text of each object for each query.
import type { Steps } from '../../base/steps.ts';
import type { EntryPage } from '../objects/page-text.ts';
import type { StoredObject } from '../objects/stored.ts';
import type { PageQuery, Selection } from './ast.ts';
import { planPage, planSelection } from './plan-page.ts';
import { filterWanted, selectAmong } from './select-among.ts';

/** A list is small with at most so many objects, and bytes of their texts. */
export const maxSmallObjects = 1000;
export const maxSmallBytes = 262_144;

/** Bytes of an object besides its attributes, and of parsed attributes for each character of their text; both approximate. */
const bytesOfObject = 400;
const bytesOfParsedChar = 3;

/** Part of a cache (1/4) that one list may take, so that the default sizes have room for the largest list. */
export const maxListPart = 4;

/** Returns whether a page that no declared index delivers looks at the attributes of all live objects of a list. */
export function readsAttributesOfPage(query: PageQuery): boolean {
  const { by, includeDeleted, residual } = planPage(query, 'unfiltered');
  return !includeDeleted && (by === 'scan' || (by === 'time' && residual.length > 0));
}

/** Returns whether a number of objects depends on the attributes of all live objects of a list. */
export function readsAttributesOfSelection(selection: Selection): boolean {
  const { by, includeDeleted, residual } = planSelection(selection);
  return !includeDeleted && by === 'scan' && residual.length > 0;
}

/** The live objects of a small list. */
export class SmallList {
  readonly #objects: readonly StoredObject[];
  /** Approximate size. */
  readonly bytes: number;

  constructor(objects: readonly StoredObject[]) {
    this.#objects = objects;
    this.bytes = objects.reduce((size, { text }) => size + text.length * bytesOfParsedChar + bytesOfObject, 0);
  }

  /** Returns the page of a query. */
  selectPage(query: PageQuery): Steps<EntryPage<StoredObject>> {
    return selectAmong(this.#objects, planPage(query, 'unfiltered'));
  }

  /** Returns the number of selected objects. */
  *count(selection: Selection): Steps<number> {
    return (yield* filterWanted(this.#objects, planSelection(selection))).length;
  }
}
