// Pages with a selection of attributes: other requests run while many members are looked for in each of many objects.
import { expect, test } from 'vitest';
import { StoredObject } from '../../src/core/objects/stored.ts';
import { parseFields } from '../../src/core/query/project.ts';
import { formatPage } from '../../src/engine/page-text.ts';

type Shown = Parameters<typeof formatPage>[0];

const scope = { kind: { declaration: {} } } as unknown as Shown;
const entries = Array.from({ length: 100 }, (_, n) => new StoredObject(`r${n}`, n + 1, '{"a":1,"b":{"c":2,"d":3}}'));

function countPauses(fields: string): number {
  const steps = formatPage(scope, entries, { projection: parseFields(fields), goneUnless: undefined });
  for (let pauses = 0; ; pauses++) {
    const step = steps.next();
    if (step.done !== true) continue;
    expect(step.value.startsWith('{"a":1,"id":"r0","last_modified":1},')).toBe(true);
    return pauses;
  }
}

test('the number of pauses depends on the number of fields, at every depth', () => {
  const many = Array.from({ length: 4000 }, (_, n) => `m${n}`);
  expect(countPauses('a')).toBe(0);
  expect(countPauses(['a', ...many].join(','))).toBeGreaterThan(40);
  expect(countPauses(['a', ...many.map((name) => `x.y.${name}`)].join(','))).toBeGreaterThan(40);
  expect(countPauses(`a,${'x.'.repeat(10_000)}y`)).toBeGreaterThan(40);
});
