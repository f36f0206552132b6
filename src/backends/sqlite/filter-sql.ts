// The filters of a query as one SQL condition. Whatever SQLite would see differently from the query evaluator (exact
// numbers, odd keys, arrays, objects, most text search) is asked of the evaluator through `coffer_matches`.
import type { Filter } from '../../core/query/ast.ts';
import { matches } from '../../core/query/evaluate.ts';
import {
  always,
  askEvaluator,
  compileAttributeTerm,
  compileOwnTerm,
  isOwnField,
  never,
  type Condition,
} from './filter-terms.ts';

/** Terms that SQLite evaluates itself; more would make too many different statements for what they save. */
const maxTerms = 2;

const askEvaluatorOfTombstone: Condition = { sql: 'coffer_matches(e.id, e.last_modified, NULL)', parameters: [] };

/** The condition for live objects, on the table `objects` as `e`; `never` when none can match. */
export function liveCondition(filters: readonly Filter[]): Condition | 'never' | undefined {
  const own = filters.filter(({ field }) => isOwnField(field)).map(compileOwnTerm);
  const ofAttributes = filters.filter(({ field }) => !isOwnField(field)).map(compileAttributeTerm);
  const condition = conjunction([...own, ...ofAttributes], askEvaluator);
  if (condition === undefined || condition === 'never' || ofAttributes.length === 0) return condition;
  if (condition === askEvaluator) return condition;
  const { sql, parameters } = condition;
  return { sql: `CASE WHEN e.plain THEN ${sql} ELSE ${askEvaluator.sql} END`, parameters };
}

/** The condition for tombstones, on the table `tombstones` as `e`; `never` when none can match. */
export function tombstoneCondition(filters: readonly Filter[]): Condition | 'never' | undefined {
  const terms = filters.map((filter) => {
    if (isOwnField(filter.field)) return compileOwnTerm(filter);
    // Their attributes are the same for all tombstones.
    return matches({ id: '', lastModified: 0, deleted: true }, [filter]) ? always : never;
  });
  return conjunction(terms, askEvaluatorOfTombstone);
}

/**
 * All terms in one condition, in an order that depends on their kinds only. The evaluator, who tests all filters
 * anyway, is asked once and last.
 *
 * @param terms `undefined` where only the evaluator can tell
 */
function conjunction(terms: readonly (Condition | undefined)[], evaluator: Condition): Condition | 'never' | undefined {
  if (terms.includes(never)) return 'never';
  const native = terms
    .filter((term): term is Condition => term !== undefined && term !== always)
    .toSorted((a, b) => a.sql.length - b.sql.length);
  const chosen = native.slice(0, maxTerms);
  const all = native.length > maxTerms || terms.includes(undefined) ? [...chosen, evaluator] : chosen;
  if (all.length <= 1) return all[0];
  return {
    // Not AND: where a value is wanted, SQLite may evaluate all of its terms although the first is false.
    sql: all.reduceRight((rest, { sql }) => (rest === '' ? sql : `(CASE WHEN ${sql} THEN ${rest} ELSE 0 END)`), ''),
    parameters: all.flatMap(({ parameters }) => parameters),
  };
}
