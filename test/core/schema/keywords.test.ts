import { describe, expect, it } from 'vitest';
import { isJsonObject, parseJson, type JsonObject } from '../../../src/base/json.ts';
import { compileSchema } from './at-once.ts';

const uris: Readonly<Record<number, string>> = {
  3: 'http://json-schema.org/draft-03/schema#',
  4: 'http://json-schema.org/draft-04/schema#',
  6: 'http://json-schema.org/draft-06/schema#',
  7: 'http://json-schema.org/draft-07/schema#',
  2019: 'https://json-schema.org/draft/2019-09/schema',
  2020: 'https://json-schema.org/draft/2020-12/schema',
};

function isValid(draft: number, schema: string, value: string): boolean {
  const parsed = parseJson(schema);
  if (!isJsonObject(parsed)) throw new Error('no object');
  const complete: JsonObject = { $schema: uris[draft]!, ...parsed };
  return compileSchema(complete)(parseJson(value)) === undefined;
}

const all = [3, 4, 6, 7, 2019, 2020];
const since = (draft: number): number[] => all.filter((other) => other >= draft);
const until = (draft: number): number[] => all.filter((other) => other <= draft);

/** Drafts, schema, valid values, invalid values. */
const cases: readonly (readonly [readonly number[], string, readonly string[], readonly string[]])[] = [
  [all, '{}', ['1', 'null', '{}', '[]'], []],
  [all, '{"type":"string"}', ['"x"'], ['1', 'null', '{}', '[]', 'true']],
  [all, '{"type":["string","null"]}', ['"x"', 'null'], ['1']],
  [all, '{"type":"object"}', ['{}'], ['[]', 'null', '1.0']],
  [all, '{"type":"number"}', ['1', '1.50', '12345678901234567890'], ['"1"', 'true']],
  [all, '{"type":"integer"}', ['1', '-3', '12345678901234567890'], ['1.5', '"1"', '0.10']],
  [since(6), '{"type":"integer"}', ['1.0', '1e3', '10.0e-1'], ['1e-1']],
  [until(4), '{"type":"integer"}', [], ['1.0', '1e3']],
  [
    all,
    '{"enum":["a",1,null,{"x":[1]}]}',
    ['"a"', '1', '1.0', 'null', '{"x":[1.0]}'],
    ['"b"', 'true', '{}', '{"x":[2]}'],
  ],
  [since(6), '{"const":{"a":1,"b":2}}', ['{"b":2,"a":1}'], ['{"a":1}', 'null']],
  [since(6), '{"const":false}', ['false'], ['0', '[false]']],
  [until(4), '{"const":1}', ['2'], []],
  [all, '{"minimum":1.1}', ['1.1', '2', '"x"', '1.10'], ['1', '1.0999999999999999999']],
  [all, '{"maximum":12345678901234567890}', ['12345678901234567890'], ['12345678901234567891']],
  [since(6), '{"exclusiveMinimum":1}', ['1.5'], ['1', '0', '1.0']],
  [since(6), '{"exclusiveMaximum":1}', ['0'], ['1', '2']],
  [until(4), '{"minimum":1,"exclusiveMinimum":true}', ['2'], ['1']],
  [until(4), '{"maximum":1,"exclusiveMaximum":true}', ['0'], ['1']],
  [until(4), '{"exclusiveMinimum":5}', ['1'], []],
  [all, '{"multipleOf":0.01}', ['0.07', '4.35', '1', '"x"', '0.10'], ['0.075', '0.00751']],
  [
    all,
    '{"multipleOf":3}',
    ['9', '0', '-3', '123456789012345678900000000000000000000'],
    ['10', '12345678901234567892'],
  ],
  [all, '{"multipleOf":1e-8}', ['12391239123'], ['1e-9']],
  [[3], '{"divisibleBy":2}', ['4'], ['3']],
  [since(4), '{"divisibleBy":2}', ['3'], []],
  [all, '{"minLength":2}', ['"ab"', '"éé"', '1'], ['"a"', '"😀"', '""']],
  [all, '{"maxLength":2}', ['"ab"', '"😀😀"'], ['"abc"']],
  [all, '{"maxLength":2.0}', ['"ab"'], ['"abc"']],
  [all, '{"pattern":"^a*$"}', ['"aaa"', '""', '1'], ['"ab"', '"a\\n"']],
  [all, '{"minItems":1,"maxItems":2}', ['[1]', '[1,2]', '{}'], ['[]', '[1,2,3]']],
  [
    all,
    '{"uniqueItems":true}',
    ['[1,2]', '[1,true]', '[[1],[2]]', '[{"a":1},{"a":2}]', '["1",1]'],
    ['[1,1.0]', '[[1],[1.0]]'],
  ],
  [
    all,
    '{"uniqueItems":true}',
    ['[12345678901234567890,12345678901234567891]'],
    ['[1e2,100]', '[{"a":1,"b":2},{"b":2,"a":1}]'],
  ],
  [all, '{"uniqueItems":false}', ['[1,1]'], []],
  [all, '{"minProperties":1,"maxProperties":2}', ['{"a":1}', '[]'], ['{}', '{"a":1,"b":2,"c":3}']],
  [since(4), '{"required":["a","constructor"]}', ['{"a":1,"constructor":1}', '[]'], ['{"a":1}', '{}']],
  [since(4), '{"required":["__proto__"]}', ['{"__proto__":1}'], ['{}', '{"a":1}']],
  [[3], '{"properties":{"a":{"required":true},"b":{}}}', ['{"a":1}'], ['{}', '{"b":1}']],
  [all, '{"properties":{"a":{"type":"string"}}}', ['{"a":"x"}', '{}', '[]', '{"b":1}'], ['{"a":1}']],
  [all, '{"properties":{"__proto__":{"type":"string"}}}', ['{"__proto__":"x"}', '{}'], ['{"__proto__":1}']],
  [all, '{"properties":{"constructor":{"type":"string"}}}', ['{}', '{"constructor":"x"}'], ['{"constructor":1}']],
  [
    all,
    '{"properties":{"__proto__":{}},"additionalProperties":false}',
    ['{"__proto__":1}', '{}'],
    ['{"constructor":1}'],
  ],
  [
    all,
    '{"patternProperties":{"^a":{"type":"string"},"b$":{"minLength":2}}}',
    ['{"ab":"xx","c":1}'],
    ['{"a":1}', '{"ab":"x"}'],
  ],
  [
    all,
    '{"properties":{"a":{}},"patternProperties":{"^x":{}},"additionalProperties":{"type":"null"}}',
    ['{"a":1,"xx":1,"c":null}'],
    ['{"c":1}'],
  ],
  [all, '{"additionalProperties":false}', ['{}', '[1]'], ['{"a":1}', '{"__proto__":1}']],
  [since(6), '{"propertyNames":{"maxLength":2}}', ['{"ab":1}', '[]'], ['{"abc":1}']],
  [since(6), '{"propertyNames":false}', ['{}'], ['{"a":1}']],
  [
    all,
    '{"dependencies":{"a":["b"],"c":{"minProperties":3}}}',
    ['{"a":1,"b":1}', '{"b":1}', '{"c":1,"d":1,"e":1}'],
    ['{"a":1}', '{"c":1}'],
  ],
  [[3], '{"dependencies":{"a":"b"}}', ['{"a":1,"b":1}'], ['{"a":1}']],
  [
    since(2019),
    '{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":false}}',
    ['{"a":1,"b":1}'],
    ['{"a":1}', '{"c":1}'],
  ],
  [until(7), '{"dependentRequired":{"a":["b"]}}', ['{"a":1}'], []],
  [all, '{"items":{"type":"integer"}}', ['[1,2]', '[]', '{}'], ['[1,"x"]']],
  [
    until(2019),
    '{"items":[{"type":"integer"},{"type":"string"}],"additionalItems":false}',
    ['[1]', '[1,"x"]'],
    ['["x"]', '[1,"x",2]'],
  ],
  [until(2019), '{"items":{},"additionalItems":false}', ['[1,2]'], []],
  [until(2019), '{"additionalItems":false}', ['[1]'], []],
  [[2020], '{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}', ['[1,"x"]', '[]'], ['["x"]', '[1,2]']],
  [since(6), '{"contains":{"minimum":5}}', ['[1,5]', '{}'], ['[]', '[1]']],
  [
    since(2019),
    '{"contains":{"minimum":5},"minContains":2,"maxContains":3}',
    ['[5,6]', '[1,5,6,7]'],
    ['[5]', '[5,6,7,8]'],
  ],
  [since(2019), '{"contains":{"minimum":5},"minContains":0}', ['[]', '[1]'], []],
  [[6, 7], '{"contains":{"minimum":5},"minContains":2}', ['[5]'], []],
  [since(4), '{"allOf":[{"minimum":1},{"maximum":3}]}', ['2'], ['0', '4']],
  [since(4), '{"anyOf":[{"minimum":3},{"maximum":1}]}', ['0', '4'], ['2']],
  [since(4), '{"oneOf":[{"minimum":1},{"maximum":3}]}', ['0', '4'], ['2']],
  [since(4), '{"not":{"type":"integer"}}', ['"x"'], ['1']],
  [since(7), '{"if":{"minimum":10},"then":{"multipleOf":10},"else":{"multipleOf":2}}', ['20', '4'], ['15', '3']],
  [since(7), '{"if":{"minimum":10}}', ['20', '4'], []],
  [since(7), '{"then":false,"else":false}', ['1'], []],
  [until(6), '{"if":{},"then":false}', ['1'], []],
  [[3], '{"extends":{"minimum":2},"disallow":["string"]}', ['3'], ['1', '"x"']],
  [[3], '{"extends":[{"minimum":2},{"maximum":3}]}', ['3'], ['1', '4']],
  [all, '{"format":"email"}', ['"no address"'], []],
  [all, '{"nullable":true,"type":"string","discriminator":{"propertyName":"x"},"$async":true}', ['"x"'], ['null']],
  [
    all,
    '{"definitions":{"a/b":{"c%d":{"type":"null"}}},"properties":{"x":{"$ref":"#/definitions/a~1b/c%25d"}}}',
    ['{"x":null}'],
    ['{"x":1}'],
  ],
  [
    all,
    '{"properties":{"child":{"$ref":"#"},"n":{"type":"integer"}}}',
    ['{"child":{"child":{"n":1}}}'],
    ['{"child":{"child":{"n":"x"}}}'],
  ],
  [all, '{"properties":{"$ref":{"type":"string"}}}', ['{"$ref":"x"}'], ['{"$ref":1}']],
  [until(7), '{"definitions":{"s":{}},"properties":{"x":{"$ref":"#/definitions/s","type":"null"}}}', ['{"x":1}'], []],
  [
    since(2019),
    '{"$defs":{"s":{}},"properties":{"x":{"$ref":"#/$defs/s","type":"null"}}}',
    ['{"x":null}'],
    ['{"x":1}'],
  ],
  [
    [4],
    '{"id":"http://x.example/root.json","definitions":{"a":{"id":"item.json","type":"null"}},"items":{"$ref":"item.json"}}',
    ['[null]'],
    ['[1]'],
  ],
  [
    since(6),
    '{"$id":"http://x.example/root.json","definitions":{"a":{"$id":"item.json","type":"null"}},"items":{"$ref":"http://x.example/item.json"}}',
    ['[null]'],
    ['[1]'],
  ],
  [[6, 7], '{"definitions":{"a":{"$id":"#name","type":"null"}},"items":{"$ref":"#name"}}', ['[null]'], ['[1]']],
  [since(2019), '{"$defs":{"a":{"$anchor":"name","type":"null"}},"items":{"$ref":"#name"}}', ['[null]'], ['[1]']],
  [since(6), '{"id":"ignored","items":{"id":5,"type":"null"}}', ['[null]'], ['[1]']],
  [
    since(6),
    '{"items":{"$ref":"http://json-schema.org/draft-07/schema#"}}',
    ['[{"minLength":1}]', '[true]'],
    ['[{"minLength":-1}]', '[5]'],
  ],
  [since(6), '{"properties":{"a":true,"b":false}}', ['{"a":1}'], ['{"b":1}']],
  [since(2019), '{"properties":{"a":{}},"unevaluatedProperties":false}', ['{"a":1}', '[]'], ['{"b":1}']],
  [
    since(2019),
    '{"allOf":[{"properties":{"a":{}}},{"patternProperties":{"^x":{}}}],"unevaluatedProperties":false}',
    ['{"a":1,"xx":2}'],
    ['{"b":1}'],
  ],
  [
    since(2019),
    '{"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{}}}],"unevaluatedProperties":false}',
    ['{"a":1,"b":1}', '{"b":1}'],
    ['{"a":2,"b":1}'],
  ],
  [
    since(2019),
    '{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":{}}},"unevaluatedProperties":false}',
    ['{"a":1,"b":1}'],
    ['{"b":1}', '{"a":2}'],
  ],
  [since(2019), '{"not":{"not":{"properties":{"a":{}}}},"unevaluatedProperties":false}', ['{}'], ['{"a":1}']],
  [
    since(2019),
    '{"$defs":{"x":{"properties":{"a":{}}}},"$ref":"#/$defs/x","unevaluatedProperties":{"type":"null"}}',
    ['{"a":1,"b":null}'],
    ['{"b":1}'],
  ],
  [since(2019), '{"additionalProperties":true,"unevaluatedProperties":false}', ['{"a":1}'], []],
  [since(2019), '{"allOf":[{"unevaluatedProperties":true}],"unevaluatedProperties":false}', ['{"a":1}'], []],
  [
    since(2019),
    '{"properties":{"x":{"properties":{"a":{}}}},"unevaluatedProperties":false}',
    ['{"x":{"b":1}}'],
    ['{"a":1}'],
  ],
  [
    since(2019),
    '{"dependentSchemas":{"a":{"properties":{"b":{}}}},"properties":{"a":{}},"unevaluatedProperties":false}',
    ['{"a":1,"b":1}'],
    ['{"b":1}'],
  ],
  [[2019], '{"items":[{}],"unevaluatedItems":false}', ['[1]'], ['[1,2]']],
  [[2020], '{"prefixItems":[{}],"unevaluatedItems":false}', ['[1]', '{}'], ['[1,2]']],
  [[2020], '{"contains":{"type":"string"},"unevaluatedItems":{"type":"null"}}', ['["x",null]'], ['["x",1]']],
  [[2019], '{"contains":{"type":"string"},"unevaluatedItems":{"type":"null"}}', [], ['["x",null]']],
  [[2020], '{"allOf":[{"prefixItems":[{},{}]}],"unevaluatedItems":{"type":"null"}}', ['[1,2,null]'], ['[1,2,3]']],
  [[2020], '{"allOf":[{"items":{}}],"unevaluatedItems":false}', ['[1,2]'], []],
  [until(7), '{"unevaluatedProperties":false}', ['{"a":1}'], []],
];

describe('keywords of JSON schema', () => {
  it.each(cases)('in drafts %j hold for %s', (drafts, schema, valid, invalid) => {
    for (const draft of drafts) {
      for (const value of valid) expect(isValid(draft, schema, value), `draft ${draft}: ${value}`).toBe(true);
      for (const value of invalid) expect(isValid(draft, schema, value), `draft ${draft}: ${value}`).toBe(false);
    }
  });

  it('are those of draft 7 when the schema does not name its draft or names an unknown one', () => {
    for (const name of ['', '"$schema":"http://example.org/own#",', '"$schema":5,']) {
      const check = compileSchema(parseJson(`{${name}"if":true,"then":false}`) as JsonObject);
      expect(check(1)).toBeDefined();
    }
  });
});

describe('dynamic references', () => {
  const tree = `{
    "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://x.example/strict-tree",
    "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": false,
    "$defs": {"tree": {"$id": "https://x.example/tree", "$dynamicAnchor": "node", "type": "object",
      "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}}}`;

  it('lead to the outermost schema with the anchor', () => {
    const check = compileSchema(parseJson(tree) as JsonObject);
    expect(check(parseJson('{"children":[{"data":1}]}'))).toBeUndefined();
    expect(check(parseJson('{"children":[{"daat":1}]}'))).toBeDefined();
    const plain = compileSchema(parseJson(tree.replace('"$dynamicAnchor": "node", "$ref"', '"$ref"')) as JsonObject);
    expect(plain(parseJson('{"children":[{"daat":1}]}'))).toBeUndefined();
  });

  it('of draft 2019-09 lead to the outermost recursive schema', () => {
    const recursive = tree
      .replace('2020-12', '2019-09')
      .replaceAll('"$dynamicAnchor": "node"', '"$recursiveAnchor": true')
      .replace('"$dynamicRef": "#node"', '"$recursiveRef": "#"');
    const check = compileSchema(parseJson(recursive) as JsonObject);
    expect(check(parseJson('{"children":[{"data":1}]}'))).toBeUndefined();
    expect(check(parseJson('{"children":[{"daat":1}]}'))).toBeDefined();
  });
});
