// A short word for conditions on entries of the history.
import type { JsonValue } from '../../base/json.ts';
import type { Comparison, Filter } from '../../core/query/ast.ts';
import { parseField } from '../../core/query/fields.ts';

/** One comparison of a field with a value. */
export function where(name: string, operator: Comparison, value: JsonValue): Filter {
  return { field: parseField(name), operator, value };
}
