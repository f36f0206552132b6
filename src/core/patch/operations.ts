// JSON Patch documents (RFC 6902) as values, and the validation of their shape. Faults of shape are reported by the index of
// the operation and the key, `0.op`; other faults appear when the operations are applied.
import { abbreviate } from '../../base/abbreviate.ts';
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { invalidParameters, type Issue } from '../errors.ts';
import { parsePointer } from './json-pointer.ts';

const operators = ['test', 'add', 'remove', 'replace', 'move', 'copy'] as const;

export type Operator = (typeof operators)[number];

export interface Operation {
  readonly op: Operator;
  /** Decoded tokens, at least one. */
  readonly path: readonly string[];
  /** Decoded tokens; only for `move` and `copy`. */
  readonly from?: readonly string[];
  /** Only for `test`, `add` and `replace`. */
  readonly value?: JsonValue;
}

/** Maximum number of operations per patch. */
export const maxOperations = 1000;

const memberNames: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/**
 * Reads the body of a JSON Patch request.
 *
 * @throws ServiceError invalidParameters with all faults of its shape
 */
export function parseOperations(body: JsonValue): readonly Operation[] {
  if (!Array.isArray(body)) throw invalidParameters([issue('', 'expected an array of operations')]);
  if (body.length > maxOperations) throw invalidParameters([issue('', `more than ${maxOperations} operations`)]);
  const issues: Issue[] = [];
  const operations: Operation[] = [];
  for (const [index, entry] of (body as readonly JsonValue[]).entries()) {
    const operation = parseOperation(entry, String(index), issues);
    if (operation !== undefined) operations.push(operation);
  }
  if (issues.length > 0) throw invalidParameters(issues);
  return operations;
}

function parseOperation(entry: JsonValue, name: string, issues: Issue[]): Operation | undefined {
  if (!isJsonObject(entry)) {
    issues.push(issue(name, 'expected an operation'));
    return undefined;
  }
  const unknown = Object.keys(entry).find((key) => !memberNames.has(key));
  if (unknown !== undefined) issues.push(issue(name, `unknown member ${abbreviate(unknown)}`));
  const op = parseOperator(getKey(entry, 'op'));
  if (op === undefined) issues.push(issue(`${name}.op`, `expected one of ${operators.join(', ')}`));
  const path = parsePath(getKey(entry, 'path'));
  if (path === undefined) issues.push(issue(`${name}.path`, 'expected a JSON pointer such as /data/title'));
  const sentFrom = getKey(entry, 'from');
  const from = parsePath(sentFrom);
  if (sentFrom !== undefined && from === undefined) {
    issues.push(issue(`${name}.from`, 'expected a JSON pointer such as /data/title'));
  }
  if (op === undefined || path === undefined) return undefined;
  const value = getKey(entry, 'value');
  return { op, path, ...(from !== undefined && { from }), ...(value !== undefined && { value }) };
}

function parseOperator(value: JsonValue | undefined): Operator | undefined {
  return operators.find((operator) => operator === value);
}

function parsePath(value: JsonValue | undefined): readonly string[] | undefined {
  return typeof value === 'string' ? parsePointer(value) : undefined;
}

function issue(name: string, description: string): Issue {
  return { location: 'body', name, description };
}
