// `coffer types`: from a collection of a running service to types that the compiler accepts.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { formatTypes } from '../../src/cli/types/schema-types.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { projectRoot } from '../architecture/source-tree.ts';
import { run, workingFolder } from './process.ts';

const compiler = path.join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');

/** Returns what the compiler says of files with these texts; the empty text if it accepts them. */
async function compile(files: Readonly<Record<string, string>>): Promise<string> {
  const cwd = workingFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(cwd, name), text);
  const args = [
    compiler,
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--ignoreConfig',
    '--target',
    'es2022',
  ];
  try {
    await promisify(execFile)(process.execPath, [...args, ...Object.keys(files)], { cwd });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

const todo = {
  title: 'Something to do',
  type: 'object',
  required: ['title', 'due'],
  properties: {
    id: { type: 'string' },
    title: { type: 'string', description: 'What is to be done. */ alert(1) /*\nSecond line' },
    status: { enum: ['open', 'done', null, 3, -1.5, true] },
    kind: { const: 'it\'s "x"\u2028\\' },
    size: { type: ['integer', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    mixed: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
    pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false, minItems: 1 },
    place: {
      type: 'object',
      properties: { room: { type: 'string' } },
      required: ['room'],
      additionalProperties: false,
    },
    people: { type: 'object', additionalProperties: { $ref: '#/definitions/person' } },
    assignee: { $ref: '#/definitions/person' },
    parent: { $ref: '#' },
    outside: { $ref: 'https://example.org/schema.json' },
    never: false,
    anything: true,
    'odd name': { oneOf: [{ type: 'boolean' }, { type: 'object', properties: { deep: { type: 'array' } } }] },
    __proto__x: { type: 'string' },
  },
  definitions: {
    person: {
      type: 'object',
      properties: { name: { type: 'string' }, friends: { type: 'array', items: { $ref: '#/definitions/person' } } },
      required: ['name'],
      additionalProperties: { type: 'number' },
    },
  },
};

describe('coffer types', () => {
  let service: TestService;
  let address: string;

  async function put(target: string, data: object): Promise<void> {
    const { status, text } = await service.request('PUT', target, { auth: 'ann', body: { data } });
    expect([200, 201], text).toContain(status);
  }

  beforeAll(async () => {
    service = await startTestService();
    address = `${service.origin}/v1/buckets/app/collections/todo-list`;
    await put('/v1/buckets/app', {});
    await put('/v1/buckets/app/collections/todo-list', { schema: todo });
    await put('/v1/buckets/app/collections/empty', {});
  });
  afterAll(() => service.close());

  it('writes the types of a collection, which the compiler applies', async () => {
    const cwd = workingFolder();
    const auth = ['--auth', 'ann:secret of ann'];
    const { code, out, err } = await run(['types', `${address}/records`, ...auth], { cwd });
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^\/\/ Written by `coffer types` from the schema of http:\S+\/todo-list, version \d+\.\n/);
    expect(out).toContain("  status?: 'open' | 'done' | null | 3 | -1.5 | true;\n");
    expect(out).toContain('  pair?: [string, number?];\n');
    expect(out).not.toMatch(/^ {2}id/m);
    const use = `import type { TodoList, Person } from './types.ts';
const person: Person = { name: 'Ann', friends: [{ name: 'Bob' }], age: 3 };
export const good: TodoList = { title: 'x', due: 1, status: 'open', size: null, tags: ['a'], mixed: ['a', 1],
  pair: ['a'], place: { room: 'r' }, people: { ann: person }, assignee: person, parent: { title: 'y', due: null },
  outside: 1, anything: 1, 'odd name': { deep: [1] } };
// @ts-expect-error a required attribute is missing
export const missing: TodoList = { due: 1 };
// @ts-expect-error a value outside of the enumeration
export const value: TodoList = { title: 'x', due: 1, status: 'closed' };
// @ts-expect-error an attribute that the schema does not name
export const unknown: TodoList = { title: 'x', due: 1, titel: 'x' };
// @ts-expect-error a member that is not allowed
export const place: TodoList = { title: 'x', due: 1, place: { room: 'r', shelf: 1 } };
// @ts-expect-error a type of another member
export const friend: Person = { name: 'Ann', friends: ['Bob'] };
// @ts-expect-error nothing is allowed
export const never: TodoList = { title: 'x', due: 1, never: 1 };
`;
    expect(await compile({ 'types.ts': out, 'use.ts': use.replaceAll("'./types.ts'", "'./types.js'") })).toBe('');
  });

  it('adds the schema of the bucket, and names and files of choice', async () => {
    await put('/v1/buckets/app', { 'record:schema': { type: 'object', properties: { owner: { type: 'string' } } } });
    const cwd = workingFolder();
    const environment = { COFFER_TYPES_AUTH: 'ann:secret of ann' };
    const args = ['types', address, '--name', 'Todo', '--output', 'todo.ts'];
    expect(await run(args, { cwd, environment })).toEqual({ code: 0, out: 'Wrote todo.ts.\n', err: '' });
    const text = readFileSync(path.join(cwd, 'todo.ts'), 'utf8');
    expect(text).toContain('export type Todo = TodoPart & TodoPart2;\n');
    expect(await compile({ 'todo.ts': text })).toBe('');
  });

  it('says what is missing', async () => {
    await put('/v1/buckets/app', {});
    const cwd = workingFolder();
    const failing = async (url: string, ...args: string[]): Promise<string> => {
      const { code, err } = await run(['types', url, ...args], { cwd });
      expect(code).toBe(1);
      return err;
    };
    const auth = ['--auth', 'ann:secret of ann'];
    expect(await failing(`${service.origin}/v1/buckets/app/collections/empty`, ...auth)).toContain('has no schema');
    expect(await failing(`${service.origin}/v1/buckets/app/collections/none`, ...auth)).toContain('responded 404');
    expect(await failing(address)).toContain('Give credentials of a reader with --auth or --bearer');
    expect(await failing('http://127.0.0.1:9/v1/buckets/a/collections/b')).toContain('out of reach');
    expect(await failing(address, ...auth, '--output', 'missing/folder.ts')).toContain('cannot be written (ENOENT)');
  });

  it('sends credentials to no other host', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(307, { Location: `http://localhost:${(server.address() as AddressInfo).port}/` }).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/buckets/a/collections/b`;
    const { code, err } = await run(['types', url, '--bearer', 'secret'], { cwd: workingFolder() });
    expect([code, err, seen]).toEqual([1, expect.stringContaining('redirects to http://localhost'), ['Bearer secret']]);
  });
});

describe('Types of schemas', () => {
  it('are safe and accepted by the compiler for hostile schemas', async () => {
    const hostile: unknown[] = [
      {
        type: 'object',
        properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"number"}}') as unknown,
      },
      { type: 'object', properties: { "a'; evil(); '": { enum: ["'; evil(); '", '`${evil()}`', '\u2028*/'] } } },
      { title: '*/ evil(); /*', description: '\u202e*/ evil() /*', type: 'string' },
      { $ref: '#/definitions/a', definitions: { a: { $ref: '#/definitions/a' } } },
      {
        $ref: '#/definitions/a',
        definitions: {
          a: { anyOf: [{ $ref: '#/definitions/b' }] },
          b: { oneOf: [{ $ref: '#/definitions/a' }, { type: 'null' }] },
        },
      },
      {
        properties: { a: { $ref: '#/definitions/Array' }, b: { $ref: '#/definitions/%7Btype%7D' } },
        definitions: { Array: { type: 'string' }, '{type}': { type: 'number' } },
      },
      {
        properties: { a: { $ref: '#/definitions/%' }, b: { $ref: '#nowhere' }, c: { $ref: '#/definitions/x~1y' } },
        definitions: { 'x/y': {} },
      },
      { type: ['string', 'strange', 5], enum: 'no list', items: 7 },
      { enum: [1e300, 12345678901234567890, { a: [1, { "b'": null }] }, {}] },
      { enum: [] },
      {
        allOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'number' } } }],
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'array', items: { $ref: '#' } } },
      {
        patternProperties: { '^x-': { type: 'string' } },
        properties: { n: { type: 'number' } },
        required: ['n', 'toString'],
      },
      true,
      false,
      null,
      5,
    ];
    const files = Object.fromEntries(
      hostile.map((schema, index) => [`t${index}.ts`, formatTypes([schema], `name ${index}`)]),
    );
    for (const text of Object.values(files)) {
      expect(text).toMatch(/^(?:\/\*\*|export (?:type|interface) )/);
      expect(text.replaceAll(/'(?:[^'\\]|\\.)*'/g, '').replaceAll(/\/\*\*.*?\*\//gs, '')).not.toContain('evil');
    }
    expect(await compile(files)).toBe('');
  });

  it('have limits', () => {
    let deep: unknown = { type: 'string' };
    for (let level = 0; level < 200; level += 1) deep = { type: 'array', items: deep };
    expect(() => formatTypes([deep], 'Deep')).toThrow('more than 100 levels');
    const wide = { enum: Array.from({ length: 60_000 }, (_, n) => n) };
    expect(() => formatTypes([wide], 'Wide')).toThrow('too many values');
  });
});
