// Reads the segments of a plan from the service, until enough rows are known.
import { isRemoval, type ObjectList } from '@coffer/client';
import type { Incoming } from './copy.ts';
import { isFailure } from './failures.ts';
import { memberOf, typeOf } from './match.ts';
import { othersOf, splitLong, type Order, type Segment } from './plan.ts';
import type { Condition } from './selector.ts';

export interface ReaderOptions {
  readonly list: ObjectList<Incoming>;
  /** Condition of the whole collection. */
  readonly base: Condition | undefined;
  readonly pageSize: number;
  readonly rowOf: (object: Incoming) => object;
}

/** Pages that are read in the order of the query before the rest is read without an order. */
const maxOrderedPages = 8;

export class SubsetReader {
  readonly #options: ReaderOptions;
  /** Types of values by segment: all values of a field that was sorted by have this one. */
  readonly #uniform = new Map<string, { readonly name: string; readonly type: string }>();

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Reads the objects of a plan. */
  async read(segments: readonly Segment[], signal: AbortSignal): Promise<readonly Incoming[]> {
    const first = segments.filter(({ isContinuation }) => isContinuation !== true);
    const results = await Promise.all(first.map((segment) => this.#readSegment(segment, signal)));
    const objects = results.flatMap((result) => result.objects);
    let count = results[0]?.count ?? 0;
    for (const segment of segments) {
      if (segment.isContinuation !== true || count >= (segment.need ?? Infinity)) continue;
      const more = await this.#readSegment(segment, signal);
      for (const object of more.objects) objects.push(object);
      count += more.count;
    }
    return objects;
  }

  /** Forgets what was concluded about fields that now have values of other types. */
  observe(objects: readonly Incoming[]): void {
    for (const [key, { name, type }] of this.#uniform) {
      const isSame = objects.every((object) => ['undefined', type].includes(typeAt(object, name)));
      if (!isSame) this.#uniform.delete(key);
    }
  }

  async #readSegment(segment: Segment, signal: AbortSignal): Promise<Result> {
    try {
      return await this.#readAs(segment, signal);
    } catch (error) {
      const { base } = this.#options;
      // A service that does not accept the condition is asked for more.
      if (!isFailure(error, 400) || segment.selector === base) throw error;
      return this.#readAll(base, segment, signal);
    }
  }

  async #readAs(segment: Segment, signal: AbortSignal): Promise<Result> {
    const { selector, need } = segment;
    const ordered = need === undefined ? undefined : await this.#readOrdered(segment, need, signal);
    return ordered ?? this.#readAll(selector, segment, signal);
  }

  async #readAll(selector: Condition | undefined, segment: Segment, signal: AbortSignal): Promise<Result> {
    const { base, pageSize } = this.#options;
    const lists = splitLong(selector, base).map((part) => this.#listing(part, { limit: pageSize }, signal).all());
    const objects = (await Promise.all(lists)).flatMap(({ data }) => data as readonly Incoming[]);
    return { objects, count: this.#count(objects, segment) };
  }

  /** Returns `undefined` if the order of the service may not be that of the query. */
  async #readOrdered(segment: Segment, need: number, signal: AbortSignal): Promise<Result | undefined> {
    const { selector, order } = segment;
    if (splitLong(selector, undefined).length > 1) return undefined;
    const sort = order === undefined ? {} : { sort: [`${order.isDescending ? '-' : ''}${order.name}`] };
    const limit = Math.min(need, this.#options.pageSize);
    const listing = this.#listing(selector, { ...sort, limit }, signal);
    const objects: Incoming[] = [];
    let count = 0;
    let next: string | undefined;
    for (let pages = 0; pages < maxOrderedPages; pages++) {
      const page = await listing.page(next);
      objects.push(...(page.data as readonly Incoming[]));
      count += this.#count(page.data, segment);
      next = page.next;
      if (next === undefined) return { objects, count };
      if (order !== undefined && !isComparable(objects, order)) return undefined;
      if (count >= need) return { objects: [...objects, ...(await this.#others(segment, objects, signal))], count };
    }
    return undefined;
  }

  /** Reads the objects whose value has another type than those of the page. Usually none. */
  async #others(segment: Segment, page: readonly Incoming[], signal: AbortSignal): Promise<readonly Incoming[]> {
    const { order } = segment;
    if (order === undefined || order.isSystem) return [];
    const type = typeAt(page[0]!, order.name);
    const key = `${type} ${order.name} ${JSON.stringify(segment.selector)}`;
    if (this.#uniform.has(key)) return [];
    this.#uniform.set(key, { name: order.name, type });
    const { data } = await this.#listing(othersOf(segment, type), { limit: this.#options.pageSize }, signal).all();
    if (data.length > 0) this.#uniform.delete(key);
    return data;
  }

  #count(objects: readonly Incoming[], segment: Segment): number {
    let count = 0;
    for (const object of objects) if (!isRemoval(object) && segment.accepts(this.#options.rowOf(object))) count++;
    return count;
  }

  #listing(filter: Condition | undefined, options: { sort?: string[]; limit: number }, signal: AbortSignal) {
    const { list } = this.#options;
    return list.list({ ...(options as object), filter: filter as never, signal });
  }
}

interface Result {
  readonly objects: readonly Incoming[];
  /** Number of rows that the query accepts. */
  readonly count: number;
}

/** Whether the values are of one type, which sorts alike in the service and in the query. */
function isComparable(objects: readonly Incoming[], order: Order): boolean {
  const type = typeAt(objects[0]!, order.name);
  if (type !== 'number' && type !== 'boolean' && !(type === 'string' && order.sortsTexts)) return false;
  if (!objects.every((object) => typeAt(object, order.name) === type)) return false;
  // Above U+D7FF, texts in UTF-16 units and in code points have different orders.
  return type !== 'string' || !/[\uD800-\uFFFF]/.test(memberOf(objects.at(-1)!, order.name) as string);
}

function typeAt(object: object, name: string): string {
  const type = typeOf(memberOf(object, name));
  return type === 'null' ? 'undefined' : type;
}
