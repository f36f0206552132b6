// What a plan reads, and then tests, is what the query evaluator selects from the whole list.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTombstone, StoredObject, type StoredEntry } from '../../../src/core/objects/stored.ts';
import type { Filter, PageQuery, SortKey } from '../../../src/core/query/ast.ts';
import { matches, matchesFilter } from '../../../src/core/query/evaluate.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import {
  isExact,
  isWanted,
  isWholeList,
  planPage,
  planSelection,
  timeRangeKey,
  withoutRepetition,
  type IdOrder,
  type PagePlan,
  type SelectionPlan,
} from '../../../src/core/query/plan-page.ts';
import { compareEntries, comparePositions, positionOf } from '../../../src/core/query/sort.ts';
import { anyQuery, changeOf } from '../../contract/queries.ts';
import { inExtent } from '../../support/extent.ts';

const start = 1000;
const uses: readonly IdOrder[] = ['always', 'unfiltered', 'never'];

/** Objects and tombstones with ids and timestamps of their own. */
const anyList: fc.Arbitrary<readonly StoredEntry[]> = fc
  .tuple(
    fc.uniqueArray(changeOf(start), { selector: ({ id }) => id, maxLength: 12, size: 'max' }),
    fc.shuffledSubarray(
      Array.from({ length: 12 }, (_, n) => start + 2 * n),
      { minLength: 12 },
    ),
  )
  .map(([changes, times]) =>
    changes.map(({ id, text }, n): StoredEntry => {
      const lastModified = times[n]!;
      return text === undefined ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, text);
    }),
  );

/** The evaluator's answer: all entries tested, sorted and cut. */
function selectAll(
  entries: readonly StoredEntry[],
  { filters, ids, includeDeleted }: PageQuery,
): readonly StoredEntry[] {
  return entries
    .filter((entry) => includeDeleted || !isTombstone(entry))
    .filter((entry) => (ids === undefined || ids.includes(entry.id)) && matches(entry, filters));
}

function selectPage(entries: readonly StoredEntry[], query: PageQuery): readonly string[] {
  const { sort, after, limit } = query;
  return selectAll(entries, query)
    .filter((entry) => after === undefined || comparePositions(positionOf(entry, sort), after, sort) > 0)
    .toSorted(compareEntries(sort))
    .slice(0, limit)
    .map(({ id }) => id);
}

/** The entries that a plan reads, in the order in which it reads them; only those are ever looked at. */
function readSource(entries: readonly StoredEntry[], plan: PagePlan | SelectionPlan): readonly StoredEntry[] {
  const { low, high } = plan.range;
  const present = entries.filter((entry) => plan.includeDeleted || !isTombstone(entry));
  const inRange = present.filter(({ lastModified }) => lastModified >= low && lastModified <= high);
  switch (plan.by) {
    case 'lookup':
      return plan.ids.flatMap((id) => present.find((entry) => entry.id === id) ?? []);
    case 'scan':
      return inRange;
    case 'time': {
      const ascending = inRange.toSorted((a, b) => a.lastModified - b.lastModified);
      return plan.direction === 'ascending' ? ascending : ascending.toReversed();
    }
    case 'id': {
      const bounds = [plan.ids.low, plan.ids.high].filter((bound) => bound !== undefined);
      const byId: readonly SortKey[] = [{ field: parseField('id'), direction: plan.direction }];
      return present
        .filter(({ id }) => bounds.every((bound) => matchesFilter(id, bound)))
        .toSorted(compareEntries(byId));
    }
  }
}

function readPlan(entries: readonly StoredEntry[], plan: PagePlan): readonly string[] {
  const wanted = readSource(entries, plan).filter((entry) => isWanted(entry, plan));
  const { sort, after, limit } = plan;
  const page =
    plan.by === 'time' || plan.by === 'id'
      ? wanted
      : wanted
          .filter((entry) => after === undefined || comparePositions(positionOf(entry, sort), after, sort) > 0)
          .toSorted(compareEntries(sort));
  return page.slice(0, limit).map(({ id }) => id);
}

describe('planned reads', () => {
  it('give the same page as the evaluator, for every way of using the order of ids', () => {
    fc.assert(
      fc.property(anyList, anyQuery(start), (entries, query) => {
        const expected = selectPage(entries, query);
        for (const idOrder of uses) expect(readPlan(entries, planPage(query, idOrder))).toEqual(expected);
      }),
      { numRuns: inExtent(600, 3000) },
    );
  });

  it('select the same entries as the evaluator, in any order', () => {
    fc.assert(
      fc.property(anyList, anyQuery(start), (entries, query) => {
        const plan = planSelection(query);
        const found = readSource(entries, plan).filter((entry) => isWanted(entry, plan));
        expect(new Set(found)).toEqual(new Set(selectAll(entries, query)));
        expect(found).toHaveLength(new Set(found).size);
      }),
      { numRuns: inExtent(400, 2000) },
    );
  });

  it('read nothing but the page when the plan is exact', () => {
    fc.assert(
      fc.property(anyList, anyQuery(start), fc.constantFrom(...uses), (entries, query, idOrder) => {
        const plan = planPage(query, idOrder);
        if (!isExact(plan)) return;
        const read = readSource(entries, plan).slice(0, plan.limit);
        expect(read.map(({ id }) => id)).toEqual(selectPage(entries, query));
      }),
      { numRuns: inExtent(600, 3000) },
    );
  });

  it('read the whole list only when everything is selected', () => {
    fc.assert(
      fc.property(anyList, anyQuery(start), (entries, query) => {
        if (!isWholeList(planSelection(query))) return;
        expect(selectAll(entries, query)).toEqual(
          entries.filter((entry) => query.includeDeleted || !isTombstone(entry)),
        );
      }),
    );
  });

  it('share a key only when they read the same page', () => {
    const pair = fc.tuple(anyQuery(start), anyQuery(start));
    fc.assert(
      fc.property(anyList, pair, (entries, [one, other]) => {
        const key = timeRangeKey(planPage(one));
        if (key === undefined || key !== timeRangeKey(planPage(other))) return;
        expect(selectPage(entries, one)).toEqual(selectPage(entries, other));
      }),
      { numRuns: inExtent(600, 3000) },
    );
  });
});

describe('the plan of a page', () => {
  const newest: readonly SortKey[] = [{ field: parseField('last_modified'), direction: 'descending' }];
  const byId: readonly SortKey[] = [{ field: parseField('id'), direction: 'ascending' }];
  const byTitle: readonly SortKey[] = [{ field: parseField('title'), direction: 'ascending' }, ...newest];
  const since: Filter = { field: parseField('last_modified'), operator: 'gt', value: 5 };
  const title: Filter = { field: parseField('title'), operator: 'eq', value: 'x' };
  const above: Filter = { field: parseField('id'), operator: 'gt', value: 'b' };
  const named: Filter = { field: parseField('id'), operator: 'in', values: ['a', 'b', 'a', 3] };
  const plan = (query: Partial<PageQuery>, idOrder?: IdOrder): PagePlan =>
    planPage({ filters: [], sort: newest, limit: 10, ...query }, idOrder);

  it('follows the index by time for the order of timestamps, with the start position in the range', () => {
    expect(plan({ filters: [since, title], after: [20] })).toMatchObject({
      by: 'time',
      direction: 'descending',
      range: { low: 6, high: 19 },
      residual: [title],
      after: undefined,
    });
  });

  it('follows the index by id for the order of ids, with the bounds and the start position as its ends', () => {
    expect(plan({ filters: [above], sort: byId, after: ['c'] })).toMatchObject({
      by: 'id',
      direction: 'ascending',
      ids: { low: { operator: 'gt', value: 'c' } },
      residual: [],
      after: undefined,
    });
  });

  it('scans when the backend does not read in the order of ids, or only without filters', () => {
    expect(plan({ filters: [title], sort: byId }).by).toBe('id');
    expect(plan({ filters: [title], sort: byId }, 'unfiltered').by).toBe('scan');
    expect(plan({ filters: [above], sort: byId }, 'unfiltered').by).toBe('id');
    expect(plan({ filters: [above], sort: byId }, 'never')).toMatchObject({ by: 'scan', residual: [above] });
  });

  it('finds the entries of a time range by time, whatever the order of the page', () => {
    expect(plan({ filters: [since], sort: byId })).toMatchObject({ by: 'scan', range: { low: 6 }, residual: [] });
  });

  it('looks up named ids once each, and only those that the caller may see', () => {
    expect(plan({ filters: [named] })).toMatchObject({ by: 'lookup', ids: ['a', 'b'], residual: [] });
    expect(plan({ filters: [named], ids: ['c', 'b', 'b'] })).toMatchObject({ by: 'lookup', ids: ['b'], residual: [] });
    expect(plan({ ids: [], sort: byTitle })).toMatchObject({ by: 'lookup', ids: [] });
  });

  it('leaves the start position to the comparison of candidates when no index begins there', () => {
    expect(plan({ sort: byTitle, after: ['x', 3] })).toMatchObject({ by: 'scan', after: ['x', 3] });
    // Such a position comes from another order, and no timestamp equals it.
    expect(plan({ after: ['x'] })).toMatchObject({ by: 'scan', after: ['x'] });
    expect(plan({ sort: byId, after: ['\ud800'] })).toMatchObject({ by: 'scan', after: ['\ud800'] });
  });

  it('drops sort keys after one that is unique in the list', () => {
    expect(plan({ sort: [...newest, ...byTitle] }).sort).toEqual(newest);
    expect(plan({ sort: [...byTitle, ...byId] }).sort).toEqual(byTitle);
  });

  it('copies no list of ids that is known to have each of them once', () => {
    const ids = ['b', 'a', 'b'];
    expect(planSelection({ filters: [], ids })).toMatchObject({ by: 'lookup', ids: ['b', 'a'] });
    const long = withoutRepetition(['b', 'a']);
    const found = planSelection({ filters: [], ids: long });
    expect(found.by === 'lookup' && found.ids === long).toBe(true);
  });
});
