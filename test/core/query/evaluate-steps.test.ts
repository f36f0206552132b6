// Filters that are tested in steps have the results of the evaluator.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAttributes, StoredObject } from '../../../src/core/objects/stored.ts';
import type { Condition, Filter } from '../../../src/core/query/ast.ts';
import { equalValues, containsValue, isJsonArray } from '../../../src/core/query/compare.ts';
import { matches, matchesFilter } from '../../../src/core/query/evaluate.ts';
import { testInSteps } from '../../../src/core/query/evaluate-steps.ts';
import { findText } from '../../../src/core/query/find-text.ts';
import { parseField, readField } from '../../../src/core/query/fields.ts';
import { runAtOnce } from '../../../src/base/steps.ts';
import { anyFilter } from '../../contract/queries.ts';
import { inExtent } from '../../support/extent.ts';
import { attributes, fieldNames, json } from './arbitraries.ts';

const runs = { numRuns: inExtent(1000, 20_000) };

const longList = fc.record({
  field: fc.constantFrom(...fieldNames).map(parseField),
  operator: fc.constantFrom('in', 'exclude', 'contains', 'contains_any'),
  values: fc.array(json, { minLength: 9, maxLength: 14, size: 'max' }),
}) satisfies fc.Arbitrary<Condition>;

describe('filters in steps', () => {
  it('have the results of the evaluator', () => {
    const filter: fc.Arbitrary<Filter> = fc.oneof({ weight: 3, arbitrary: anyFilter(1000) }, longList);
    fc.assert(
      fc.property(attributes, fc.array(filter, { minLength: 1, maxLength: 6 }), (value, filters) => {
        const object = new StoredObject('a', 1000, formatAttributes(value));
        const expected = matches(object, filters);
        expect(runAtOnce(testInSteps(object, filters))).toBe(expected);
        const tombstone = { id: 'a', lastModified: 1000, deleted: true } as const;
        expect(runAtOnce(testInSteps(tombstone, filters))).toBe(matches(tombstone, filters));
      }),
      runs,
    );
  });

  it('find values of long lists as if each was compared', () => {
    fc.assert(
      fc.property(attributes, longList, (object, { field, operator, values }) => {
        const value = readField(object, field);
        const isElement = (wanted: (typeof values)[number]): boolean =>
          isJsonArray(value) && value.some((element) => containsValue(element, wanted));
        const isListed = value !== undefined && values.some((each) => equalValues(value, each));
        const expected = {
          in: isListed,
          exclude: !isListed,
          contains: isJsonArray(value) && values.every(isElement),
          contains_any: isJsonArray(value) && values.some(isElement),
        };
        expect(matchesFilter(value, { field, operator, values })).toBe(expected[operator]);
      }),
      runs,
    );
  });
});

describe('texts in texts', () => {
  const letters = (maxLength: number): fc.Arbitrary<string> =>
    fc.array(fc.constantFrom('a', 'b'), { maxLength, size: 'max' }).map((all) => all.join(''));

  it('are found where indexOf finds them', () => {
    fc.assert(
      fc.property(letters(300), letters(6), letters(60), fc.nat(300), fc.nat(300), (text, start, repeated, a, b) => {
        const part = start + repeated.repeat(2);
        const [from, to] = [Math.min(a, b, text.length), Math.min(Math.max(a, b), text.length)];
        const found = text.slice(from, to).indexOf(part);
        expect(findText(text, part, from, to)).toBe(found === -1 ? -1 : from + found);
        const whole = text + part;
        expect(findText(whole, part, 0, whole.length)).toBe(whole.indexOf(part));
      }),
      runs,
    );
  });
});
