// The example plugin and a program in TypeScript, as authors outside would have them: Coffer is packed and installed.
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutsideProject } from '../support/outside.ts';

const guide = readFileSync(new URL('../../docs/guides/writing-a-plugin.md', import.meta.url), 'utf8');
/** The program in the guide that begins with this line. */
const programOf = (line: string): string =>
  [...guide.matchAll(/```js\n([^]*?)```/g)].map(([, code = '']) => code).find((code) => code.startsWith(line)) ?? '';

let project: OutsideProject;
beforeAll(async () => {
  project = await OutsideProject.create();
  await project.copy('examples/plugin');
});
afterAll(() => project.remove());

describe('the example plugin', () => {
  it('passes its own tests, the contract suites of its backend among them.', async () => {
    const { code, text } = await project.node('--test');
    expect(text).toMatch(/^(?:#|ℹ) fail 0$/m);
    expect(Number(/^(?:#|ℹ) pass (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(500);
    expect(code).toBe(0);
  });

  it('has types that fit those of Coffer.', async () => {
    expect(await project.check('--project', '.')).toEqual({ code: 0, text: '' });
  });
});

describe('the garden', () => {
  it('has types that fit those of Coffer.', async () => {
    await cp('examples/garden', path.join(project.path, 'garden'), { recursive: true });
    const options =
      '--ignoreConfig --allowJs --checkJs --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes';
    const modules = '--module nodenext --target es2023 --types node garden/garden.js';
    expect(await project.check(...`${options} ${modules}`.split(' '))).toEqual({ code: 0, text: '' });
  });
});

describe('a plugin that lies elsewhere', () => {
  let elsewhere: string;
  beforeAll(async () => {
    elsewhere = await realpath(await mkdtemp(path.join(tmpdir(), 'coffer-elsewhere-')));
    for (const folder of ['consumer', 'away']) await mkdir(path.join(elsewhere, folder));
    await cp('examples/plugin', path.join(elsewhere, 'plugin'), { recursive: true });
  });
  afterAll(() => rm(elsewhere, { recursive: true, force: true }));

  /** Starts a service of the packed Coffer with these plugins, and answers with the statuses of requests to it. */
  const answersOf = async (folder: string, includes: string, ...targets: readonly string[]): Promise<string> => {
    const coffer = JSON.stringify(path.join(project.path, 'node_modules/coffer/dist/testing/index.js'));
    const program = `
      const { startTestService } = await import(${coffer});
      const service = await startTestService({ settings: { includes: ${JSON.stringify(includes)} } });
      const answers = [];
      for (const target of ${JSON.stringify(targets)}) {
        answers.push((await service.asUser('alice').request('GET', '/v1' + target)).status);
      }
      console.log('ANSWERS', answers.join(' '));
      await service.close();`;
    const { text } = await project.nodeIn(folder, '--input-type=module', '--eval', program);
    return text;
  };

  it('runs when npm has linked it, and imports the Coffer that runs it', async () => {
    const consumer = path.join(elsewhere, 'consumer');
    await project.linkIn(consumer, path.join(elsewhere, 'plugin'));
    expect(await realpath(path.join(consumer, 'node_modules/coffer-plugin-newsroom'))).toBe(
      path.join(elsewhere, 'plugin'),
    );
    expect(await answersOf(consumer, 'coffer-plugin-newsroom', '/drafts', '/stories')).toContain('ANSWERS 200 403');
  });

  it('runs by its path', async () => {
    const away = path.join(elsewhere, 'away');
    expect(await answersOf(away, '../plugin/src/index.js', '/drafts')).toContain('ANSWERS 200');
  });

  it('gets the classes of the Coffer that runs it, also when it has a copy of its own', async () => {
    const copy = path.join(elsewhere, 'away/node_modules/coffer');
    await mkdir(copy, { recursive: true });
    await writeFile(path.join(copy, 'package.json'), '{"name":"coffer","type":"module","exports":"./index.js"}');
    await writeFile(
      path.join(copy, 'index.js'),
      'export class ServiceError extends Error {} export const definePlugin = (plugin) => plugin;',
    );
    await writeFile(
      path.join(elsewhere, 'away/teapot.mjs'),
      `import { definePlugin, ServiceError } from 'coffer';
      import { startTestService } from 'coffer/testing';
      const handle = async () => { throw new ServiceError('forbidden', { message: typeof startTestService }); };
      const operations = { GET: { id: 'teapot', handle } };
      const endpoints = [{ name: 'teapot', path: '/teapot', isResource: false, operations }];
      export default definePlugin({ name: 'teapot', setup: () => ({ endpoints }) });`,
    );
    expect(await answersOf(path.join(elsewhere, 'away'), './teapot.mjs', '/teapot')).toContain('ANSWERS 403');
  });
});

describe('the programs in the guide', () => {
  it('build a service with kinds of its own, at an address of its own.', async () => {
    const program = programOf('import { createLogger, createService');
    expect(program).toContain("http_port: '8080'");
    const check = `
      const origin = await listening;
      const answers = [];
      for (const path of ['/api/v2/', '/api/v2/buckets', '/api/v2/notes']) {
        answers.push((await fetch(new URL(path, origin))).status);
      }
      console.log('ANSWERS', answers.join(' '));
      await service.close();
      process.exit(0);`;
    const runnable = program
      .replace("http_port: '8080'", "http_port: '0'")
      .replace('process.env.SECRET', "'a secret for tests'")
      .replace(
        'console.log(await service.listen());',
        'const listening = service.listen(); console.log(await listening);',
      );
    await writeFile(path.join(project.path, 'own-service.js'), runnable + check);
    const { text } = await project.node('own-service.js');
    expect(text).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v2\/$/m);
    expect(text).toContain('ANSWERS 200 404 401');
  });

  it('make an authorization policy that hides an object wherever it is.', async () => {
    await writeFile(path.join(project.path, 'policy.js'), programOf('export const createAuthorization'));
    const check = `
      import { startTestService } from 'coffer/testing';
      const service = await startTestService({ settings: { 'multiauth.authorization_policy': './policy.js' } });
      const alice = service.asUser('alice');
      const records = '/v1/buckets/b/collections/c/records';
      for (const path of ['/v1/buckets/b', '/v1/buckets/b/collections/c', records + '/r', records + '/payroll']) {
        await alice.request('PUT', path);
      }
      const one = await alice.request('GET', records + '/payroll');
      const list = await alice.request('GET', records);
      console.log('ANSWERS', one.status, list.body.data.map(({ id }) => id).join());
      await service.close();`;
    await writeFile(path.join(project.path, 'own-policy.js'), check);
    expect((await project.node('own-policy.js')).text).toContain('ANSWERS 403 r');
  });
});

describe('a program in TypeScript', () => {
  const program = `
import { createService, definePlugin, readers, setting, settingsOf, type Logger, type ResourceKind } from 'coffer';
import { startTestService, storageCases } from 'coffer/testing';

const table = { 'notes.limit': setting(readers.integer({ min: 1 }), 'How many.', { default: 5 }) };
const kind: ResourceKind = { name: 'note', path: '/notes', flavour: 'user' };
export const notes = definePlugin({
  name: 'notes',
  settings: table,
  setup({ settings }) {
    const limit: number = settings.read(table)['notes.limit'];
    return { kinds: [kind], capabilities: { notes: { description: String(limit), url: '' } } };
  },
});

const ignore = (): void => {};
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const settings = settingsOf({ userid_hmac_secret: 'x', built_in_kinds: 'false', path_prefix: '/api' });
const service = await createService({ settings, logger, plugins: [notes], authorization: { decide: (q) => q.byDefault() } });
await service.close();
const test = await startTestService({ plugins: [notes] });
await test.close();
export const count: number = storageCases.length;
`;

  it('finds the types of everything it needs, with all checks on.', async () => {
    await writeFile(path.join(project.path, 'program.ts'), program);
    const options = '--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false';
    const modules = '--module nodenext --target es2023 --types node --ignoreConfig';
    const args = `${options} ${modules} program.ts`.split(' ');
    expect(await project.check(...args)).toEqual({ code: 0, text: '' });
  });

  it('imports nothing but what is published.', async () => {
    const { code, text } = await project.node(
      '--input-type=module',
      '--eval',
      "await import('coffer/dist/app/service.js')",
    );
    expect(code).not.toBe(0);
    expect(text).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });
});
