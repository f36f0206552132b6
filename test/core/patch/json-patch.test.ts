import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatJson, isJsonObject, parseJson, type JsonValue } from '../../../src/base/json.ts';
import { runAtOnce } from '../../../src/base/steps.ts';
import { ServiceError, type Issue } from '../../../src/core/errors.ts';
import { applyOperations } from '../../../src/core/patch/json-patch.ts';
import { formatPointer, parsePointer } from '../../../src/core/patch/json-pointer.ts';
import { parseOperations } from '../../../src/core/patch/operations.ts';

function patch(document: string, operations: string): string {
  return formatJson(runAtOnce(applyOperations(parseJson(document), parseOperations(parseJson(operations)))));
}

function issuesOf(run: () => unknown): readonly Issue[] {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(ServiceError);
    expect((error as ServiceError).key).toBe('invalidParameters');
    return (error as ServiceError).details as readonly Issue[];
  }
  throw new Error('nothing was refused');
}

describe('JSON patch', () => {
  it.each([
    ['{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux"}]', '{"foo":"bar","baz":"qux"}'],
    ['{"foo":["a","c"]}', '[{"op":"add","path":"/foo/1","value":"b"}]', '{"foo":["a","b","c"]}'],
    ['{"foo":["a"]}', '[{"op":"add","path":"/foo/-","value":["b"]}]', '{"foo":["a",["b"]]}'],
    ['{"foo":["a"]}', '[{"op":"add","path":"/foo/1","value":null}]', '{"foo":["a",null]}'],
    ['{"a":1}', '[{"op":"add","path":"/a","value":2}]', '{"a":2}'],
    ['{"a":1,"b":2}', '[{"op":"remove","path":"/a"}]', '{"b":2}'],
    ['{"a":[1,2,3]}', '[{"op":"remove","path":"/a/1"}]', '{"a":[1,3]}'],
    ['{"a":[1,2]}', '[{"op":"replace","path":"/a/0","value":{}}]', '{"a":[{},2]}'],
    ['{"a":{"b":1},"c":{}}', '[{"op":"move","from":"/a/b","path":"/c/d"}]', '{"a":{},"c":{"d":1}}'],
    ['{"a":[1,2,3]}', '[{"op":"move","from":"/a/0","path":"/a/2"}]', '{"a":[2,3,1]}'],
    ['{"a":{"b":1}}', '[{"op":"move","from":"/a/b","path":"/a"}]', '{"a":1}'],
    ['{"a":1}', '[{"op":"move","from":"/a","path":"/a"}]', '{"a":1}'],
    ['{"a":{"b":1}}', '[{"op":"copy","from":"/a","path":"/a/c"}]', '{"a":{"b":1,"c":{"b":1}}}'],
    ['{"a":1}', '[{"op":"test","path":"/a","value":1}]', '{"a":1}'],
    ['{"a":[1,{"b":null}]}', '[{"op":"test","path":"/a","value":[1.0,{"b":null}]}]', '{"a":[1,{"b":null}]}'],
    ['{"a":10}', '[{"op":"test","path":"/a","value":1e1}]', '{"a":10}'],
    [
      '{"/":1,"~1":2,"m~n":3}',
      '[{"op":"test","path":"/~1","value":1},{"op":"remove","path":"/~01"}]',
      '{"/":1,"m~n":3}',
    ],
    ['{"":{"":1}}', '[{"op":"replace","path":"//","value":2}]', '{"":{"":2}}'],
    ['{"0":1}', '[{"op":"replace","path":"/0","value":2}]', '{"0":2}'],
    ['{"a":1}', '[{"op":"add","path":"/__proto__","value":{"x":1}}]', '{"a":1,"__proto__":{"x":1}}'],
    ['{"__proto__":{"x":1}}', '[{"op":"add","path":"/__proto__/y","value":2}]', '{"__proto__":{"x":1,"y":2}}'],
    ['{"a":1}', '[{"op":"add","path":"/n","value":12345678901234567890}]', '{"a":1,"n":12345678901234567890}'],
    ['{"a":1}', '[]', '{"a":1}'],
    ['{"a":1}', '[{"op":"remove","path":"/a","value":5,"from":"/x"}]', '{}'],
  ])('of %s with %s gives %s', (document, operations, result) => {
    expect(patch(document, operations)).toBe(result);
  });

  it.each([
    ['{"a":1}', '{"op":"test","path":"/a","value":2}'],
    ['{"a":1}', '{"op":"test","path":"/a","value":"1"}'],
    ['{"a":1}', '{"op":"test","path":"/b","value":null}'],
    ['{"a":1}', '{"op":"test","path":"/a"}'],
    ['{"a":1}', '{"op":"add","path":"/b"}'],
    ['{"a":1}', '{"op":"replace","path":"/a"}'],
    ['{"a":1}', '{"op":"replace","path":"/b","value":1}'],
    ['{"a":1}', '{"op":"remove","path":"/b"}'],
    ['{"a":1}', '{"op":"remove","path":"/constructor"}'],
    ['{"a":1}', '{"op":"test","path":"/__proto__","value":{}}'],
    ['{"a":1}', '{"op":"add","path":"/__proto__/polluted","value":1}'],
    ['{"a":1}', '{"op":"add","path":"/constructor/prototype/polluted","value":1}'],
    ['{"a":1}', '{"op":"add","path":"/b/c","value":1}'],
    ['{"a":1}', '{"op":"add","path":"/a/c","value":1}'],
    ['{"a":"text"}', '{"op":"replace","path":"/a/0","value":"x"}'],
    ['{"a":[1]}', '{"op":"add","path":"/a/2","value":1}'],
    ['{"a":[1]}', '{"op":"add","path":"/a/-1","value":1}'],
    ['{"a":[1]}', '{"op":"add","path":"/a/01","value":1}'],
    ['{"a":[1]}', '{"op":"add","path":"/a/1e0","value":1}'],
    ['{"a":[1]}', '{"op":"add","path":"/a/length","value":5}'],
    ['{"a":[1]}', '{"op":"add","path":"/a/99999999999999999999","value":5}'],
    ['{"a":[1]}', '{"op":"remove","path":"/a/-"}'],
    ['{"a":[1]}', '{"op":"replace","path":"/a/1","value":1}'],
    ['{"a":[1]}', '{"op":"test","path":"/a/-","value":1}'],
    ['{"a":{"b":1}}', '{"op":"move","from":"/a","path":"/a/b/c"}'],
    ['{"a":1}', '{"op":"move","path":"/b"}'],
    ['{"a":1}', '{"op":"copy","path":"/b"}'],
    ['{"a":1}', '{"op":"copy","from":"/x","path":"/b"}'],
  ])('of %s with %s is refused without a name', (document, operation) => {
    const issues = issuesOf(() =>
      patch(document, `[{"op":"test","path":"/a","value":${firstValue(document)}},${operation}]`),
    );
    expect(issues).toMatchObject([{ location: 'body', name: null }]);
    expect(issues[0]!.description).toContain('operation 1');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('reports all faults in the form of its operations', () => {
    const body = `[5, {"op":"add"}, {"op":"zap","path":"x"}, {"op":"remove","path":"/a","more":1}, {},
      {"op":"move","path":"/a","from":"b"}, {"op":"add","path":"/a/~2","value":1}, {"op":"constructor","path":""}]`;
    const names = issuesOf(() => parseOperations(parseJson(body))).map((issue) => issue.name);
    expect(names).toEqual([
      '0',
      '1.path',
      '2.op',
      '2.path',
      '3',
      '4.op',
      '4.path',
      '5.from',
      '6.path',
      '7.op',
      '7.path',
    ]);
  });

  it('must be an array of at most a thousand operations', () => {
    for (const body of ['{}', 'null', '"x"', JSON.stringify(Array.from({ length: 1001 }, () => ({ op: 'test' })))]) {
      expect(issuesOf(() => parseOperations(parseJson(body))).map((issue) => issue.name)).toEqual(['']);
    }
  });

  it('limits the growth of the document by copies', () => {
    const operations = Array.from({ length: 1000 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }));
    expect(issuesOf(() => patch('{"a":[1]}', JSON.stringify(operations)))).toMatchObject([{ name: null }]);
    const texts = Array.from({ length: 1000 }, (_, index) => ({ op: 'copy', from: '/a', path: `/b${index}` }));
    const long = JSON.stringify({ a: 'x'.repeat(100_000) });
    expect(issuesOf(() => patch(long, JSON.stringify(texts)))).toMatchObject([{ name: null }]);
  });

  it('limits the depth of the document', () => {
    const deep = `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`;
    const path = '/a'.repeat(299);
    const operations = JSON.stringify([{ op: 'copy', from: '/a', path: `${path}/b` }]);
    expect(issuesOf(() => patch(deep, operations))).toMatchObject([{ name: null }]);
  });

  it('limits the work of patches that copy wide containers repeatedly', () => {
    const wide = JSON.stringify({ a: Array.from({ length: 90_000 }, () => 1), b: 1 });
    const pair = [
      { op: 'copy', from: '/b', path: '/c' },
      { op: 'replace', path: '/a/0', value: 2 },
    ];
    const operations = JSON.stringify(Array.from({ length: 500 }, () => pair).flat());
    expect(issuesOf(() => patch(wide, operations))[0]!.description).toContain('too much work');
  });

  it('keeps the source of a copy apart from the copy', () => {
    const operations = `[{"op":"add","path":"/a/x","value":[1]},{"op":"copy","from":"/a","path":"/b"},
      {"op":"add","path":"/a/x/-","value":2},{"op":"remove","path":"/b/y"}]`;
    expect(patch('{"a":{"y":1}}', operations)).toBe('{"a":{"y":1,"x":[1,2]},"b":{"x":[1]}}');
  });

  it('keeps a value that two operations refer to apart from both', () => {
    const operations = parseOperations(
      parseJson('[{"op":"add","path":"/a","value":{}},{"op":"add","path":"/a/b","value":1}]'),
    );
    expect(runAtOnce(applyOperations({}, operations))).toEqual({ a: { b: 1 } });
    expect(runAtOnce(applyOperations({}, operations))).toEqual({ a: { b: 1 } });
  });
});

function firstValue(document: string): string {
  return JSON.stringify((JSON.parse(document) as { a: unknown }).a);
}

/** A second, simple-minded implementation: every operation on a fresh copy. */
function applySlowly(document: unknown, operations: readonly Record<string, unknown>[]): unknown {
  const root = structuredClone(document);
  for (const { op, path, from, value } of operations) {
    if (op === 'copy') insert(root, path as string, structuredClone(take(root, from as string, false)));
    else if (op === 'move') insert(root, path as string, take(root, from as string, true));
    else if (op === 'remove') take(root, path as string, true);
    else if (op === 'replace') {
      take(root, path as string, true);
      insert(root, path as string, structuredClone(value));
    } else insert(root, path as string, structuredClone(value));
  }
  return root;
}

function descend(root: unknown, tokens: readonly string[]): Record<string, unknown> {
  let value = root as Record<string, unknown>;
  for (const token of tokens) value = value[token] as Record<string, unknown>;
  return value;
}

function take(root: unknown, path: string, remove: boolean): unknown {
  const tokens = path.slice(1).split('/');
  const parent = descend(root, tokens.slice(0, -1));
  const value = parent[tokens.at(-1)!];
  if (remove && Array.isArray(parent)) parent.splice(Number(tokens.at(-1)), 1);
  else if (remove) Reflect.deleteProperty(parent, tokens.at(-1)!);
  return value;
}

function insert(root: unknown, path: string, value: unknown): void {
  const tokens = path.slice(1).split('/');
  const parent = descend(root, tokens.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(tokens.at(-1) === '-' ? parent.length : Number(tokens.at(-1)), 0, value);
  else parent[tokens.at(-1)!] = value;
}

/** Pointers to every value below the root. */
function pointers(value: JsonValue, prefix = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: JsonValue, index) => [`${prefix}/${index}`, ...pointers(item, `${prefix}/${index}`)]);
  }
  if (!isJsonObject(value)) return [];
  return Object.keys(value).flatMap((key) => [`${prefix}/${key}`, ...pointers(value[key]!, `${prefix}/${key}`)]);
}

describe('JSON patch against a simple model', () => {
  it('yields the same documents and never changes its input', () => {
    const document = fc.dictionary(
      fc.constantFrom('a', 'b', 'c'),
      fc
        .jsonValue({ maxDepth: 3 })
        .map((value) => JSON.parse(JSON.stringify(value).replaceAll(/[~/]|__proto__/g, '')) as JsonValue),
      { minKeys: 1 },
    );
    const picks = fc.array(fc.tuple(fc.constantFrom('add', 'remove', 'replace', 'copy', 'move'), fc.nat(), fc.nat()), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(document, picks, (start, choices) => {
        // Each operation is chosen so that it succeeds on the document as it is by then.
        const operations: Record<string, unknown>[] = [];
        let current: unknown = start;
        for (const [op, first, second] of choices) {
          const paths = pointers(current as JsonValue);
          if (paths.length === 0) break;
          const path = paths[first % paths.length]!;
          const from = paths[second % paths.length]!;
          if (op === 'move' && (path.startsWith(`${from}/`) || isInList(current, from))) continue;
          const operation = op === 'copy' || op === 'move' ? { op, path, from } : { op, path, value: { n: [first] } };
          operations.push(operation);
          current = applySlowly(current, [operation]);
        }
        const before = JSON.stringify(start);
        const result = runAtOnce(applyOperations(start, parseOperations(parseJson(JSON.stringify(operations)))));
        expect(result).toEqual(current);
        expect(JSON.stringify(start)).toBe(before);
      }),
      { numRuns: 300 },
    );
  });
});

/** Taking an element out of a list moves the others, so that the target may be gone. */
function isInList(root: unknown, path: string): boolean {
  return Array.isArray(descend(root, path.slice(1).split('/').slice(0, -1)));
}

describe('JSON pointers', () => {
  it('survive a round trip through text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('/', '~', '0', '1', 'é', '') }), { minLength: 1 }),
        (tokens) => {
          expect(parsePointer(formatPointer(tokens))).toEqual(tokens);
        },
      ),
    );
  });

  it('start with a slash and escape nothing else', () => {
    for (const text of ['', 'a', '/~', '/~2', '/a/~', 'a/b']) expect(parsePointer(text)).toBeUndefined();
  });
});
