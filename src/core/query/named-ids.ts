// Filters that name ids: what passes them can be looked up instead of searched for.
import { isIdField } from './fields.ts';
import type { Filter } from './ast.ts';

/** The only ids that can pass the filters, when one of them names ids; `undefined` when none does. */
export function namedIds(filters: readonly Filter[]): readonly string[] | undefined {
  for (const filter of filters) {
    if (!isIdField(filter.field)) continue;
    if (filter.operator === 'eq') return typeof filter.value === 'string' ? [filter.value] : [];
    if (filter.operator === 'in') return filter.values.filter((value) => typeof value === 'string');
  }
  return undefined;
}
