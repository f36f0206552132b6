// Clients that are generated from the description of a service pass the compiler and complete the guided tour.
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../examples/tour/client.mjs';
import { Narrator } from '../../examples/tour/narrator.mjs';
import { follow } from '../../examples/tour/steps/follow.mjs';
import { guard } from '../../examples/tour/steps/guard.mjs';
import { sayHello } from '../../examples/tour/steps/hello.mjs';
import { load } from '../../examples/tour/steps/load.mjs';
import { walkPages } from '../../examples/tour/steps/pages.mjs';
import { patch } from '../../examples/tour/steps/patch.mjs';
import { query } from '../../examples/tour/steps/query.mjs';
import { share } from '../../examples/tour/steps/share.mjs';
import { cleanUp, prepare } from '../../examples/tour/tour.mjs';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import type { Call, Connect, Operations, Query } from './fixtures/generated-clients/calls.mts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const sources = fileURLToPath(new URL('fixtures/generated-clients/', import.meta.url));
const patienceMs = 120_000;

/** Addresses of the tour, the innermost id in the last group, and the operations behind them. */
const routes: readonly (readonly [method: string, path: RegExp, id: keyof Operations])[] = [
  ['GET', /^\/$/, 'server_info'],
  ['POST', /^\/batch$/, 'batch'],
  ['GET', /^\/permissions$/, 'get_permissionss'],
  ['PUT', /^\/buckets\/(?<own>[^/]+)$/, 'update_bucket'],
  ['DELETE', /^\/buckets\/(?<own>[^/]+)$/, 'delete_bucket'],
  ['PUT', /^\/buckets\/(?<bucket>[^/]+)\/collections\/(?<own>[^/]+)$/, 'update_collection'],
  ['PATCH', /^\/buckets\/(?<bucket>[^/]+)\/collections\/(?<own>[^/]+)$/, 'patch_collection'],
  ['PUT', /^\/buckets\/(?<bucket>[^/]+)\/groups\/(?<own>[^/]+)$/, 'update_group'],
  ['PATCH', /^\/buckets\/(?<bucket>[^/]+)\/groups\/(?<own>[^/]+)$/, 'patch_group'],
  ...(
    [
      ['GET', 'get_records'],
      ['HEAD', 'head_records'],
      ['POST', 'create_record'],
      ['DELETE', 'delete_records'],
    ] as const
  ).map(
    ([method, id]) =>
      [method, /^\/buckets\/(?<bucket>[^/]+)\/collections\/(?<collection>[^/]+)\/records$/, id] as const,
  ),
  ...(
    [
      ['GET', 'get_record'],
      ['PUT', 'update_record'],
      ['PATCH', 'patch_record'],
    ] as const
  ).map(
    ([method, id]) =>
      [method, /^\/buckets\/(?<bucket>[^/]+)\/collections\/(?<collection>[^/]+)\/records\/(?<own>[^/]+)$/, id] as const,
  ),
];

type Answer = Awaited<ReturnType<Client['request']>>;

/** The client of the tour, with each request sent by the generated operation for it. */
class GeneratedClient extends Client {
  readonly #operations: Operations;

  constructor(api: string, user: ConstructorParameters<typeof Client>[1], connect: Connect) {
    super(api, user);
    this.#operations = connect(this.api, this.credentials);
  }

  override async request(
    method: string,
    target: string,
    { body, headers = {}, expect: expected }: Parameters<Client['request']>[2] = {},
  ): Promise<Answer> {
    const [address = '', search = ''] = target.replace(this.api, '').split('?');
    const [, pattern, id] = routes.find(([verb, route]) => verb === method && route.test(address)) ?? [];
    if (pattern === undefined || id === undefined) throw new Error(`The tour sends ${method} ${address}.`);
    const { bucket = '', collection = '', own = '' } = pattern.exec(address)?.groups ?? {};
    const ids: Call['ids'] = { bucket_id: bucket, collection_id: collection, own };
    const reply = await this.#operations[id]({ ids, query: readQuery(search), headers, body });
    const isExpected = expected?.includes(reply.status) ?? (reply.status >= 200 && reply.status < 300);
    if (!isExpected) throw new Error(`${id} was answered with ${reply.status}: ${JSON.stringify(reply.body)}`);
    const parsed = typeof reply.body === 'object' && reply.body !== null ? reply.body : {};
    return { method, path: target, sent: body, status: reply.status, headers: reply.headers, body: parsed };
  }
}

/** A query string as the parameters that the description has. */
function readQuery(search: string): Query {
  const { _since, _sort, _limit, _token, _fields, ...filters } = Object.fromEntries(new URLSearchParams(search));
  return {
    ...(_since === undefined ? {} : { _since }),
    ...(_sort === undefined ? {} : { _sort: _sort.split(',') }),
    ...(_limit === undefined ? {} : { _limit: Number(_limit) }),
    ...(_token === undefined ? {} : { _token }),
    ...(_fields === undefined ? {} : { _fields: _fields.split(',') }),
    ...(Object.keys(filters).length === 0 ? {} : { filters }),
  };
}

const compilerOptions = {
  target: 'es2023',
  module: 'nodenext',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmitOnError: true,
  skipLibCheck: true,
  outDir: 'out',
};

describe('generated clients', () => {
  let folder = '';
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({
      settings: { includes: 'default_bucket', experimental_permissions_endpoint: 'true' },
    });
    folder = await mkdtemp(path.join(tmpdir(), 'generated-clients-'));
    const { text } = await service.request('GET', '/v1/openapi.json');
    await writeFile(path.join(folder, 'openapi.json'), text);
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, include: ['*.mts', '*.d.ts'] }),
    );
    await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    for (const file of await readdir(sources)) await copyFile(path.join(sources, file), path.join(folder, file));
    const generate = (...args: readonly string[]): Promise<unknown> =>
      run(process.execPath, [...args], { cwd: folder });
    const inRoot = (name: string): string => path.join(root, name);
    await generate(
      '--import',
      pathToFileURL(inRoot('test/support/typescript-api.mjs')).href,
      inRoot('node_modules/openapi-typescript/bin/cli.js'),
      'openapi.json',
      '--output',
      'api.d.ts',
    );
    await generate(inRoot('node_modules/oazapfts/dist/cli.js'), 'openapi.json', 'oazapfts-client.mts');
    const compiling = run(process.execPath, [inRoot('node_modules/typescript/bin/tsc')], { cwd: folder });
    // The compiler reports on the standard output.
    const report = await compiling.then(
      () => '',
      (error: unknown) => (error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)),
    );
    expect(report).toBe('');
  }, patienceMs);
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  it.each(['openapi-fetch', 'oazapfts'])(
    'complete the guided tour: %s',
    async (name) => {
      const file = pathToFileURL(path.join(folder, 'out', `${name}.mjs`)).href;
      const { connect } = (await import(/* @vite-ignore */ file)) as { readonly connect: Connect };
      const api = `${service.origin}/v1`;
      const narrator = new Narrator({ write: () => undefined, isTerminal: false });
      const prepared = prepare({ api, narrator });
      const { owner } = prepared;
      const clientOf = (user?: typeof owner): Client => new GeneratedClient(api, user, connect);
      const tour = {
        ...prepared,
        alice: clientOf(owner),
        bob: clientOf({ ...owner, name: 'bob' }),
        stranger: clientOf(),
      };
      const hello = await sayHello(tour);
      const loaded = await load(tour, hello);
      expect(loaded.created).toBe(tour.languages.length);
      expect(loaded.repeated.refused).toBe(hello.batchSize);
      const answered = await query(tour);
      for (const { query: filters, ids, expected } of answered.answers) expect(ids, filters).toEqual(expected);
      expect(answered.sorted).toEqual(answered.expectedSorted);
      const walked = await walkPages(tour);
      expect(walked.newestFirst).toMatchObject({ distinct: walked.total, isInOrder: true });
      expect(walked.byName).toMatchObject({ isInOrder: true });
      const followed = await follow(tour);
      expect([followed.unchanged, followed.still, followed.quiet]).toEqual([304, 304, []]);
      expect(followed.news).toHaveLength(6);
      const patched = await patch(tour);
      expect([patched.failed, patched.light]).toEqual([400, { status: 'archived' }]);
      const guarded = await guard(tour);
      expect(guarded.race.won).toBe(1);
      const shared = await share(tour, hello);
      expect(shared.oneRecord).toEqual(['epo', 'lat']);
      expect([shared.anonymous, shared.written, shared.other]).toEqual([401, 200, 403]);
      expect(shared.listed).toHaveLength(3);
      await cleanUp(tour);
    },
    patienceMs,
  );
});
