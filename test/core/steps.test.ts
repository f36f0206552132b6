// Work on large values in steps: how many they take, and that small ones take one.
import { describe, expect, it } from 'vitest';
import { StepBudget } from '../../src/base/json-steps.ts';
import type { JsonObject } from '../../src/base/json.ts';
import type { Steps } from '../../src/base/steps.ts';
import { StoredObject } from '../../src/core/objects/stored.ts';
import { mergePatch, shallowMerge } from '../../src/core/patch/merge.ts';
import { applyOperations } from '../../src/core/patch/json-patch.ts';
import { keysInSteps, parseIndexes } from '../../src/core/index/definition.ts';
import { equalInSteps, equalValues } from '../../src/core/query/compare.ts';
import { checkSchema } from '../../src/core/schema/check-schema.ts';
import { validateAgainst } from '../../src/core/schema/validate.ts';

function countSteps<T>(steps: Steps<T>): number {
  let count = 1;
  while (steps.next().done !== true) count++;
  return count;
}

function members(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
}

function nested(count: number): JsonObject {
  return { a: Array.from({ length: count / 2 }, (_, n) => ({ [`k${n}`]: n })) };
}

const options = { internalFields: ['last_modified'] };
const work: readonly (readonly [string, (count: number) => Steps<unknown>])[] = [
  ['merging', (count) => shallowMerge(members(count), { a: 1 })],
  ['merging deeply', (count) => mergePatch(members(count), members(count))],
  ['comparing', (count) => equalInSteps(members(count), members(count), new StepBudget())],
  ['comparing nested values', (count) => equalInSteps(nested(count), nested(count), new StepBudget())],
  ['adding by a JSON patch', (count) => applyOperations(members(count), [{ op: 'add', path: ['a'], value: 1 }])],
  ['copying by a JSON patch', (count) => applyOperations(nested(count), [{ op: 'copy', from: ['a'], path: ['b'] }])],
  [
    'testing by a JSON patch',
    (count) => applyOperations(nested(count), [{ op: 'test', path: ['a'], value: nested(count)['a']! }]),
  ],
  [
    'checking members against a schema',
    (count) => validateAgainst({ additionalProperties: { type: 'integer', minimum: 0 } }, members(count), options),
  ],
  [
    'checking that items differ',
    (count) => validateAgainst({ properties: { a: { uniqueItems: true } } }, nested(count), options),
  ],
  ['hiding fields from a schema', (count) => validateAgainst({}, { ...members(count), id: 'x' }, options)],
  ['checking a schema', (count) => checkSchema({ properties: schemas(count / 2) })],
  ['reading a stored object', (count) => new StoredObject('x', 1, JSON.stringify(members(count))).read()],
];

function schemas(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, { type: 'string' }]));
}

describe('steps', () => {
  it.each(work)('are many while %s', (_name, start) => {
    // The number of steps grows with the work, so that each stays as small as it is.
    const few = countSteps(start(20_000));
    expect(few).toBeGreaterThanOrEqual(5);
    expect(countSteps(start(60_000))).toBeGreaterThanOrEqual(2.5 * few);
  });

  it.each(work)('are not used while %s in small', (_name, start) => {
    expect(countSteps(start(50))).toBe(1);
  });

  it('find the same equality as without steps', () => {
    for (const [a, b] of [
      [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
      [{ a: 1 }, { b: 1 }],
      [[1, 2], [1]],
      [{ a: [] }, { a: {} }],
      [[{ a: 1 }], [{ a: 2 }]],
      ['x', undefined],
    ] as const) {
      const steps = equalInSteps(a, b, new StepBudget());
      expect(steps.next()).toEqual({ done: true, value: equalValues(a, b) });
    }
  });
});

describe('the keys of declared indexes', () => {
  it('are made one in a step', () => {
    const indexes = parseIndexes([{ fields: ['a'] }, { fields: ['a', 'b'] }, { text: ['t'] }])!;
    expect(countSteps(keysInSteps(indexes, { a: members(1000), t: 'green tea' }))).toBe(3);
  });
});
