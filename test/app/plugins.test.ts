// Plugins from outside: how they are found, what they may add, and what happens when they fail.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService, type TestServiceOptions } from '../../src/testing/index.ts';
import { definePlugin, type Plugin, type PluginParts } from '../../src/http/plugin.ts';
import { plainText } from '../../src/engine/endpoint.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { setting } from '../../src/settings/definition.ts';
import { integer, list, text } from '../../src/settings/readers.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { ModuleFolder } from '../support/modules.ts';

async function withService<T>(options: TestServiceOptions, work: (service: TestService) => Promise<T>): Promise<T> {
  const service = await startTestService(options);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/** A plugin of these parts. */
function pluginOf(parts: PluginParts, name = 'ours'): Plugin {
  return definePlugin({ name, setup: () => parts });
}

/** Says hello at an address of its own. */
const greeter = (name: string, how: string): string => `
${how} {
  name: '${name}',
  setup: () => ({
    endpoints: [{
      name: '${name}', path: '/${name}', isResource: false,
      operations: { GET: { id: '${name}', handle: async () => ({ status: 200, headers: {}, body: '"hello"' }) } },
    }],
  }),
};
`;

describe('the setting includes', () => {
  let folder: ModuleFolder;
  beforeAll(async () => {
    folder = await ModuleFolder.enter();
    await folder.install('greeting-package', greeter('packaged', 'export default'));
    await folder.install('@somebody/greeting', greeter('scoped', 'export default'));
    await folder.write('plugins/greeting.js', greeter('relative', 'export const plugin ='));
    await folder.write('package.json', '{"type":"module"}');
  });
  afterAll(() => folder.remove());

  const start = (includes: string): Promise<TestService> => startTestService({ settings: { includes } });

  it('loads packages of the working folder, and files by relative or absolute path.', async () => {
    const absolute = await folder.write('plugins/absolute.mjs', greeter('absolute', 'export default'));
    const includes = `greeting-package @somebody/greeting ./plugins/greeting.js ${absolute}`;
    await withService({ settings: { includes } }, async (service) => {
      for (const name of ['packaged', 'scoped', 'relative', 'absolute']) {
        expect(await service.request('GET', `/v1/${name}`)).toMatchObject({ status: 200, body: 'hello' });
      }
    });
  });

  it('lists the built-in plugins when a package does not exist.', async () => {
    await expect(start('greeting-pakage')).rejects.toThrow(
      /includes names greeting-pakage, which is none of .*default_bucket.*No package greeting-pakage was found: install it in /,
    );
  });

  it('reports the path of a missing file.', async () => {
    await expect(start('./plugins/missing.js')).rejects.toThrow(
      `No module exists at ${folder.path}/plugins/missing.js`,
    );
  });

  it('reports a module whose default export is not a plugin, with a remedy.', async () => {
    await folder.write('plugins/empty.js', 'export const something = 1;');
    await expect(start('./plugins/empty.js')).rejects.toThrow(
      /includes names \.\/plugins\/empty\.js, but the default export of that module is not a plugin.*definePlugin/,
    );
  });

  it('reports why a module could not be loaded.', async () => {
    await folder.write('plugins/broken.js', "throw new Error('no coffee left');");
    await expect(start('./plugins/broken.js')).rejects.toThrow(/broken\.js could not be loaded: no coffee left/);
    await folder.write('plugins/lacking.js', "import 'not-installed-anywhere';");
    await expect(start('./plugins/lacking.js')).rejects.toThrow(/lacking\.js could not be loaded: .*not-installed/);
  });

  it('refuses two plugins of one name.', async () => {
    await folder.write('plugins/again.js', greeter('packaged', 'export default'));
    await expect(start('greeting-package ./plugins/again.js')).rejects.toThrow('Two plugins have the name packaged.');
  });
});

describe('a plugin that fails at start', () => {
  it('is reported with its reason when it cannot be set up.', async () => {
    const plugin = definePlugin({ name: 'ours', setup: () => Promise.reject(new Error('no coffee left')) });
    await expect(startTestService({ plugins: [plugin] })).rejects.toThrow(
      'The plugin ours could not be set up: no coffee left',
    );
  });

  it('is reported with its reason when it cannot be started, and all plugins are stopped.', async () => {
    const log: string[] = [];
    const first = pluginOf({ start: () => void log.push('start'), stop: () => void log.push('stop') }, 'first');
    const second = pluginOf(
      {
        start() {
          throw new Error('no coffee left');
        },
        stop() {
          throw new Error('never started');
        },
      },
      'second',
    );
    await expect(startTestService({ plugins: [first, second] })).rejects.toThrow(
      'The plugin second could not be started: no coffee left',
    );
    expect(log).toEqual(['start', 'stop']);
  });

  it('does not prevent other plugins from stopping when it fails to stop.', async () => {
    const log: string[] = [];
    const errors: unknown[] = [];
    const first = pluginOf({ stop: () => void log.push('stopped') }, 'first');
    const second = pluginOf({ stop: () => Promise.reject(new Error('stuck')) }, 'second');
    const logger: Logger = { ...silentLogger, error: (fields) => void errors.push(fields) };
    const service = await startTestService({ plugins: [first, second], logger });
    await service.close();
    expect(log).toEqual(['stopped']);
    expect(errors).toMatchObject([{ err: { message: 'stuck' } }]);
  });
});

describe('a plugin that fails in a request', () => {
  const plugin = pluginOf({
    principals: (userId) => {
      if (userId.endsWith('x')) return Promise.reject(new Error('directory down'));
      return Promise.resolve([]);
    },
    endpoints: [
      {
        name: 'trap',
        path: '/trap/{how}',
        parameters: { how: plainText },
        isResource: false,
        operations: {
          GET: {
            id: 'trap',
            async handle({ parameters, unit }) {
              if (parameters['how'] === 'refuse') throw new ServiceError('forbidden', { message: 'not today' });
              const { storage } = await unit.writer();
              await storage.create({ kind: 'thing', parent: '' }, 'kept', '{}');
              if (parameters['how'] === 'fail') throw new Error('a secret');
              // oxlint-disable-next-line typescript/prefer-promise-reject-errors
              return Promise.reject('not even an error');
            },
          },
        },
      },
    ],
  });

  it('fails only that request, rolls it back, and reveals no details.', async () => {
    await withService({ plugins: [plugin] }, async (service) => {
      const answers = await Promise.all([
        service.request('GET', '/v1/trap/fail'),
        service.request('GET', '/v1/trap/odd'),
        service.request('GET', '/v1/trap/refuse'),
        service.asUser('alice').request('PUT', '/v1/buckets/b'),
      ]);
      expect(answers).toMatchObject([
        { status: 500, body: { errno: 999 } },
        { status: 500, body: { errno: 999 } },
        { status: 403, body: { errno: 121, message: 'not today' } },
        { status: 201 },
      ]);
      expect(answers[0].text).not.toContain('secret');
      // What it wrote would be in the way of writing it again.
      expect(await service.request('GET', '/v1/trap/fail')).toMatchObject({ status: 500, body: { errno: 999 } });
    });
  });

  it('fails the whole batch when it fails one entry.', async () => {
    await withService({ plugins: [plugin] }, async (service) => {
      const requests = [{ method: 'PUT', path: '/buckets/b' }, { path: '/trap/fail' }];
      const alice = service.asUser('alice');
      expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({ status: 500 });
      expect(await alice.request('GET', '/v1/buckets/b')).toMatchObject({ status: 403 });
    });
  });
});

describe('principals of plugins', () => {
  const labels = new Map<string, readonly string[]>();
  const plugin = pluginOf({
    principals: (userId) => Promise.resolve((labels.get(userId) ?? []).map((name) => `group:${name}`)),
  });

  it('count like groups, from the next request on, in batches as well.', async () => {
    await withService({ plugins: [plugin] }, async (service) => {
      const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
      const { body } = await bob.request('GET', '/v1/');
      const { id } = (body as { user: { id: string } }).user;
      await alice.request('PUT', '/v1/buckets/b', { body: { permissions: { read: ['group:staff'] } } });
      expect(await bob.request('GET', '/v1/buckets/b')).toMatchObject({ status: 403 });
      labels.set(id, ['staff', 'tall']);
      expect(await bob.request('GET', '/v1/buckets/b')).toMatchObject({ status: 200 });
      expect(await bob.request('GET', '/v1/buckets')).toMatchObject({ body: { data: [{ id: 'b' }] } });
      const requests = [{ path: '/buckets/b' }, { method: 'PATCH', path: '/buckets/b', body: { data: { a: 1 } } }];
      expect(await bob.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({
        body: { responses: [{ status: 200 }, { status: 403 }] },
      });
      expect(await bob.request('GET', '/v1/')).toMatchObject({
        body: { user: { principals: expect.arrayContaining(['group:staff', 'group:tall']) } },
      });
      labels.clear();
      expect(await bob.request('GET', '/v1/buckets/b')).toMatchObject({ status: 403 });
    });
  });

  it('that cannot be looked up cause an error, and are never treated as empty.', async () => {
    const failing = pluginOf({ principals: () => Promise.reject(new Error('directory down')) });
    await withService({ plugins: [failing] }, async (service) => {
      expect(await service.asUser('bob').request('GET', '/v1/buckets')).toMatchObject({ status: 500 });
      expect(await service.request('GET', '/v1/buckets')).toMatchObject({ status: 401 });
    });
  });
});

describe('permissions that plugins add', () => {
  const grantedBy = [
    { kind: 'record', entry: 'publish' },
    { kind: 'record', entry: 'write' },
    { kind: 'collection', entry: 'write' },
    { kind: 'bucket', entry: 'write' },
  ];
  const publish = definePlugin({
    name: 'publishing',
    setup: ({ objects }) => ({
      permissions: [{ kind: 'record', name: 'publish', grantedBy }],
      endpoints: [
        {
          name: 'publication',
          path: '/publish/{bucket_id}/{collection_id}/{record_id}',
          isResource: false,
          operations: {
            POST: {
              id: 'publish',
              async handle(context) {
                await objects.requireAllowed(context, { kind: 'record', ids: context.ids }, 'publish');
                return jsonResponse(202, {});
              },
            },
          },
        },
      ],
    }),
  });

  it('are stored on objects and checked.', async () => {
    await withService({ plugins: [publish], settings: { record_publish_principals: '' } }, async (service) => {
      const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
      const { body } = await bob.request('GET', '/v1/');
      const { id } = (body as { user: { id: string } }).user;
      await alice.request('PUT', '/v1/buckets/b');
      await alice.request('PUT', '/v1/buckets/b/collections/c');
      const record = '/v1/buckets/b/collections/c/records/r';
      await alice.request('PUT', record, { body: { permissions: { publish: [id] } } });
      await alice.request('PUT', '/v1/buckets/b/collections/c/records/s');
      expect(await alice.request('GET', record)).toMatchObject({ body: { permissions: { publish: [id] } } });
      expect(await bob.request('POST', '/v1/publish/b/c/r')).toMatchObject({ status: 202 });
      expect(await alice.request('POST', '/v1/publish/b/c/r')).toMatchObject({ status: 202 });
      expect(await bob.request('POST', '/v1/publish/b/c/s')).toMatchObject({ status: 403 });
      expect(await service.request('POST', '/v1/publish/b/c/r')).toMatchObject({ status: 401 });
      // Publishing is not reading.
      expect(await bob.request('GET', record)).toMatchObject({ status: 403 });
      const patch = [{ op: 'add', path: '/permissions/publish/system.Everyone' }];
      const headers = { 'Content-Type': 'application/json-patch+json' };
      expect(await alice.request('PATCH', record, { body: patch, headers })).toMatchObject({ status: 200 });
      expect(await service.request('POST', '/v1/publish/b/c/r')).toMatchObject({ status: 202 });
      expect(await alice.request('PUT', '/v1/buckets/b', { body: { permissions: { publish: [id] } } })).toMatchObject({
        status: 400,
      });
    });
  });

  it('can be granted to principals by a setting.', async () => {
    const settings = { record_publish_principals: 'system.Authenticated' };
    await withService({ plugins: [publish], settings }, async (service) => {
      expect(await service.asUser('bob').request('POST', '/v1/publish/b/c/r')).toMatchObject({ status: 202 });
      expect(await service.request('POST', '/v1/publish/b/c/r')).toMatchObject({ status: 401 });
    });
  });

  it('prevent the start when they contradict the kind.', async () => {
    const added = (kind: string, name: string, by = grantedBy): Promise<TestService> =>
      startTestService({ plugins: [pluginOf({ permissions: [{ kind, name, grantedBy: by }] })] });
    await expect(added('story', 'publish')).rejects.toThrow('story');
    await expect(added('record', 'write')).rejects.toThrow('The permission write of record is declared twice.');
    await expect(added('record', 'publish', [{ kind: 'group', entry: 'write' }])).rejects.toThrow('group');
  });
});

describe('id generators of plugins', () => {
  let issued = 0;
  const plugin = pluginOf({
    idGenerators: {
      Numbered: { generate: () => `n${(issued += 1)}`, match: (id) => /^n\d+$/.test(id) },
      Confused: { generate: () => 'a', match: (id) => id === 'b' },
    },
  });

  it('are selected by settings, also for the built-in kinds.', async () => {
    const settings = { record_id_generator: 'Numbered' };
    await withService({ plugins: [plugin], settings }, async (service) => {
      const alice = service.asUser('alice');
      await alice.request('PUT', '/v1/buckets/b');
      await alice.request('PUT', '/v1/buckets/b/collections/c');
      const records = '/v1/buckets/b/collections/c/records';
      const { body } = await alice.request('POST', records);
      expect(body).toMatchObject({ data: { id: `n${issued}` } });
      expect(await alice.request('PUT', `${records}/n77`)).toMatchObject({ status: 201 });
      expect(await alice.request('PUT', `${records}/x77`)).toMatchObject({ status: 400 });
    });
  });

  it('that do not exist, or refuse their own ids, prevent the start.', async () => {
    const start = (generator: string): Promise<TestService> =>
      startTestService({ plugins: [plugin], settings: { record_id_generator: generator } });
    await expect(start('Numberd')).rejects.toThrow(
      'record_id_generator: unknown id generator Numberd; use UUID4, NameGenerator, RelaxedUUID, Numbered or Confused.',
    );
    await expect(start('Confused')).rejects.toThrow('does not accept its own id');
  });
});

describe('settings of plugins', () => {
  const table = {
    'ours.limit': setting(integer({ min: 1 }), 'How many.', { default: 5, isPublic: true }),
    'ours.names': setting(list(), 'Who.', { default: ['a', 'b'], isPublic: true }),
    'ours.key': setting(text(), 'Secret.', { default: '', isSecret: true }),
  };
  let seen: unknown;
  const plugin = definePlugin({
    name: 'ours',
    settings: table,
    families: [
      {
        form: 'ours.<id>.color',
        sentence: 'Color.',
        pattern: /^ours\.[^.]+\.color$/,
        environmentPattern: /^ours_.+_color$/,
        reader: undefined,
      },
    ],
    setup({ settings }) {
      seen = settings.read(table);
      return {};
    },
  });

  it('are typed, and the public ones are in the root view.', async () => {
    const settings = { 'ours.limit': '7', 'ours.key': 'hush' };
    await withService({ plugins: [plugin], settings }, async (service) => {
      expect(seen).toEqual({ 'ours.limit': 7, 'ours.names': ['a', 'b'], 'ours.key': 'hush' });
      const { body } = await service.request('GET', '/v1/');
      expect(body).toMatchObject({ settings: { 'ours.limit': 7, 'ours.names': ['a', 'b'] } });
      expect(body).not.toHaveProperty(['settings', 'ours.key']);
    });
  });

  it('are reported together with all other problems, before any plugin is set up.', async () => {
    const other = definePlugin({
      name: 'other',
      settings: { 'other.limit': setting(integer(), 'How many.', { default: 5 }) },
      setup: () => Promise.reject(new Error('too early')),
    });
    const start = startTestService({
      plugins: [plugin, other],
      settings: { 'ours.limit': '0', 'other.limit': 'many' },
    });
    await expect(start).rejects.toThrow(/ours\.limit = "0".*1 or more[^]*other\.limit = "many"/);
  });

  it('are suggested for misspelt names.', async () => {
    const warnings: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      warn: (...args: readonly unknown[]) => void warnings.push(String(args.at(-1))),
    };
    const settings = { 'ours.limt': '7', 'ours.x.color': 'red' };
    await withService({ plugins: [plugin], settings, logger }, () => Promise.resolve());
    expect(warnings.filter((line) => line.includes('ours'))).toEqual([
      expect.stringMatching(/ours\.limt .*did you mean ours\.limit/),
    ]);
  });
});
