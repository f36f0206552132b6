// Long texts are left out of statements that read them for several requests or objects. Each is read by a statement of its
// own, after the request has reserved memory for it.
import { largeTextChars } from '../../base/json-steps.ts';

/**
 * Columns of the text of a row of objects, and of its length in bytes. One of them is NULL: the text when it is long.
 *
 * @param most expression for the maximum length of a text
 */
export function textOrLength(alias: string, most = String(largeTextChars)): string {
  const length = `octet_length(${alias}.data)`;
  return `CASE WHEN ${length} <= ${most} THEN ${alias}.data END,
    CASE WHEN ${length} > ${most} THEN ${length} END`;
}
