import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatJson, parseJson, type JsonObject, type JsonValue } from '../../../src/base/json.ts';
import { runAtOnce } from '../../../src/base/steps.ts';
import { mergePatch, shallowMerge } from '../../../src/core/patch/merge.ts';

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => parseJson(JSON.stringify(value)));
const object = fc
  .dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor', 'd'), json, { maxKeys: 4 })
  .map((value) => parseJson(JSON.stringify(value)) as JsonObject);

function withoutNulls(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value as JsonObject).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

describe('merge patch', () => {
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    ['{"o":5}', '{"o":{"a":1}}', '{"o":{"a":1}}'],
    ['{"a":1}', '{"a":[null,1]}', '{"a":[null,1]}'],
    ['{"n":1}', '{"n":12345678901234567890.50}', '{"n":12345678901234567890.50}'],
    ['{"a":1}', '{"__proto__":{"x":1}}', '{"a":1,"__proto__":{"x":1}}'],
    ['{"__proto__":{"x":1,"y":2}}', '{"__proto__":{"x":null}}', '{"__proto__":{"y":2}}'],
    ['{}', '{"constructor":null}', '{}'],
  ])('of %s with %s gives %s', (target, patch, result) => {
    expect(formatJson(runAtOnce(mergePatch(parseJson(target), parseJson(patch))))).toBe(result);
  });

  it('leaves its arguments as they were', () => {
    fc.assert(
      fc.property(object, json, (target, patch) => {
        const before = formatJson(target) + formatJson(patch);
        runAtOnce(mergePatch(target, patch));
        expect(formatJson(target) + formatJson(patch)).toBe(before);
      }),
    );
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(object, json, (target, patch) => {
        const once = runAtOnce(mergePatch(target, patch));
        expect(runAtOnce(mergePatch(once, patch))).toEqual(once);
      }),
    );
  });

  it('of nothing yields the patch without its nulls', () => {
    fc.assert(
      fc.property(object, (patch) => {
        expect(runAtOnce(mergePatch({}, patch))).toEqual(withoutNulls(patch));
      }),
    );
  });
});

describe('shallow merge', () => {
  it('replaces whole attributes and stores nulls', () => {
    const target = parseJson('{"a":{"x":1},"b":2,"__proto__":1}') as JsonObject;
    const patch = parseJson('{"a":{"y":1},"b":null,"__proto__":{"c":1}}') as JsonObject;
    expect(formatJson(runAtOnce(shallowMerge(target, patch)))).toBe('{"a":{"y":1},"b":null,"__proto__":{"c":1}}');
  });
});
