// Selectors of lists, `_filter`: conditions on fields as JSON, and their combinations.
import {
  comparison,
  holdsElement,
  likeTest,
  type Filter,
  type FilterRules,
  type Test,
  type ValueTest,
} from './filters.ts';
import { isList, isMap, isNumber, isSame, member, valueAt, type Json, type JsonMap } from './json.ts';
import { parseJson } from './numbers.ts';

/** Thrown in this module alone. */
class Unacceptable extends Error {}

type Allows = (field: string, operator: string) => boolean;

const comparisons: Readonly<Record<string, string>> = {
  $eq: 'eq',
  $ne: 'not',
  $gt: 'gt',
  $gte: 'min',
  $lt: 'lt',
  $lte: 'max',
};

/** Reads a selector; `undefined` when it is not acceptable. Combinations are on no field. */
export function readSelector(text: string, rules: FilterRules): readonly Filter[] | undefined {
  try {
    const selector = parseJson(text) as Json;
    return isMap(selector) ? filtersOf(selector, allowsOf(rules)) : undefined;
  } catch {
    // No JSON, or no selector.
    return undefined;
  }
}

function allowsOf({ knownFields, listFields = [] }: FilterRules): Allows {
  return (field, operator) => {
    const contains = operator === '$contains' || operator === '$containsAny';
    if (field === 'last_modified' && (contains || operator === '$like')) return false;
    if (field === 'id' && contains) return false;
    return (
      knownFields === undefined ||
      knownFields.includes(field.split('.')[0]!) ||
      (contains && listFields.includes(field))
    );
  };
}

function filtersOf(selector: Json | undefined, allows: Allows): readonly Filter[] {
  if (!isMap(selector)) throw new Unacceptable();
  return Object.entries(selector).flatMap(([key, value]): readonly Filter[] => {
    if (key.startsWith('$')) return combinationOf(key, value, allows);
    const operators = isMap(value) ? operatorsIn(value) : undefined;
    if (operators === undefined) return [conditionOn(key, '$eq', value, allows)];
    return operators.map(([operator, operand]) => conditionOn(key, operator, operand, allows));
  });
}

function operatorsIn(value: JsonMap): readonly (readonly [string, Json])[] | undefined {
  const pairs = Object.entries(value);
  const operators = pairs.filter(([key]) => key.startsWith('$'));
  if (operators.length > 0 && operators.length < pairs.length) throw new Unacceptable();
  return operators.length === 0 ? undefined : operators;
}

function combinationOf(operator: string, value: Json, allows: Allows): readonly Filter[] {
  const all =
    (filters: readonly Filter[]): Test =>
    (map) =>
      filters.every(({ test }) => test(map));
  if (operator === '$not') {
    const inner = all(filtersOf(value, allows));
    return [{ field: '', test: (map) => !inner(map) }];
  }
  if (!['$and', '$or', '$nor'].includes(operator) || !isList(value) || value.length === 0) throw new Unacceptable();
  const branches = value.map((branch) => filtersOf(branch, allows));
  if (operator === '$and') return branches.flat();
  const tests = branches.map(all);
  return [{ field: '', test: (map) => tests.some((test) => test(map)) === (operator === '$or') }];
}

function conditionOn(field: string, operator: string, operand: Json, allows: Allows): Filter {
  if (operator === '$not') {
    const operators = isMap(operand) ? operatorsIn(operand) : undefined;
    if (operators === undefined) throw new Unacceptable();
    const inner = operators.map((one) => conditionOn(field, ...one, allows));
    return { field: '', test: (map) => !inner.every(({ test }) => test(map)) };
  }
  if (!allows(field, operator)) throw new Unacceptable();
  const passes = testOf(operator, operand);
  return { field, test: (map) => passes(valueAt(map, field)) };
}

function testOf(operator: string, operand: Json): ValueTest {
  const compared = comparisons[operator];
  if (compared !== undefined) return comparison(compared, operand);
  switch (operator) {
    case '$in':
    case '$nin': {
      if (!isList(operand)) throw new Unacceptable();
      const isListed: ValueTest = (value) => value !== undefined && operand.some((one) => isSame(value, one));
      return operator === '$in' ? isListed : (value) => !isListed(value);
    }
    case '$exists':
      if (typeof operand !== 'boolean') throw new Unacceptable();
      return (value) => (value !== undefined) === operand;
    case '$like':
      if (typeof operand !== 'string') throw new Unacceptable();
      return likeTest(operand);
    case '$startsWith':
      if (typeof operand !== 'string') throw new Unacceptable();
      return (value) => typeof value === 'string' && value.startsWith(operand);
    case '$contains':
    case '$containsAny': {
      const wanted = isList(operand) ? operand : [operand];
      if (operator === '$contains') return (value) => isList(value) && wanted.every((one) => holdsElement(value, one));
      return (value) => isList(value) && wanted.some((one) => holdsElement(value, one));
    }
    case '$size':
      if (typeof operand !== 'number' || !Number.isInteger(operand) || operand < 0) throw new Unacceptable();
      return (value) => isList(value) && value.length === operand;
    case '$type': {
      const names = isList(operand) ? operand : [operand];
      const known = ['null', 'string', 'number', 'boolean', 'array', 'object'];
      if (names.length === 0 || !names.every((name) => known.includes(name as string))) throw new Unacceptable();
      return (value) => value !== undefined && names.includes(typeOf(value));
    }
    case '$elemMatch': {
      const passes = elementTest(operand);
      return (value) => isList(value) && value.some(passes);
    }
    default:
      throw new Unacceptable();
  }
}

/** Operators on the element itself, or conditions on its members. */
function elementTest(operand: Json): (element: Json) => boolean {
  if (!isMap(operand)) throw new Unacceptable();
  const allows: Allows = (_field, operator) => operator !== '$like';
  const isOnItself = Object.keys(operand).every(
    (key) => key.startsWith('$') && !['$and', '$or', '$nor', '$not'].includes(key),
  );
  if (isOnItself) {
    const filters = Object.entries(operand).map((one) => conditionOn('it', ...one, allows));
    return (element) => filters.every(({ test }) => test({ it: element }));
  }
  const filters = filtersOf(operand, allows);
  return (element) => filters.every(({ test }) => test(isMap(element) ? element : {}));
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (isList(value)) return 'array';
  if (isNumber(value)) return 'number';
  return typeof value;
}

/** What is wrong with declared indexes, by the place of each fault. */
export function faultsOfIndexes(value: Json): readonly string[] {
  if (!isList(value) || value.length > 8) return [''];
  return value.flatMap((item, number): readonly string[] => {
    if (!isMap(item)) return [`.${number}`];
    const texts = member(item, 'text');
    if (texts !== undefined) return faultsOfText(item, texts).map((place) => `.${number}${place}`);
    const fields = member(item, 'fields');
    const unique = member(item, 'unique') ?? false;
    const unknown = Object.keys(item).find((key) => key !== 'fields' && key !== 'unique');
    if (unknown !== undefined) return [`.${number}.${unknown}`];
    if (!isList(fields) || fields.length === 0 || fields.length > 4) return [`.${number}.fields`];
    const bad = fields.findIndex(
      (name) => typeof name !== 'string' || !/^-?[\w.]+$/.test(name) || /^-?(?:id|last_modified)$/.test(name),
    );
    if (bad !== -1) return [`.${number}.fields.${bad}`];
    return typeof unique === 'boolean' ? [] : [`.${number}.unique`];
  });
}

function faultsOfText(item: JsonMap, names: Json): readonly string[] {
  const unknown = Object.keys(item).find((key) => key !== 'text');
  if (unknown !== undefined) return [`.${unknown}`];
  if (!isList(names) || names.length === 0 || names.length > 4) return ['.text'];
  const bad = names.findIndex((name) => typeof name !== 'string' || !/^[\w.]+$/.test(name));
  return bad === -1 ? [] : [`.text.${bad}`];
}

/** The fields of each unique index. */
export function uniqueIndexes(value: Json | undefined): readonly (readonly string[])[] {
  if (!isList(value) || faultsOfIndexes(value).length > 0) return [];
  return value.flatMap((item) => {
    const names = isMap(item) && member(item, 'unique') === true ? member(item, 'fields') : undefined;
    return isList(names) ? [names.map((name) => (name as string).replace(/^-/, ''))] : [];
  });
}
