// The image, built and run by hand as the Dockerfile and the Compose files say, since not every machine has an engine.
import { existsSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectRoot } from '../architecture/source-tree.ts';
import { at, entriesOf, parseYaml } from '../support/compose.ts';
import { createDatabase } from '../support/postgresql.ts';
import { listFiles, makeReadOnly, makeRemovable, runCommand, startContainer, type Container } from './container.ts';
import { buildImage, copyContext, isRoot, type Image } from './image.ts';

const read = (name: string): string => readFileSync(path.join(projectRoot, name), 'utf8');

const folder = mkdtempSync(path.join(tmpdir(), 'coffer-image-'));
const postgresqlUrl = await createDatabase();
let image: Image;

beforeAll(async () => {
  const context = path.join(folder, 'context');
  await copyContext(projectRoot, read('.dockerignore'), context);
  image = await buildImage({ dockerfile: read('Dockerfile'), context, target: path.join(folder, 'stages') });
  await makeReadOnly(image);
  // The user of the image has to get to it.
  await chmod(folder, 0o755);
}, 300_000);

afterAll(async () => {
  await makeRemovable(folder);
  await rm(folder, { recursive: true, force: true });
});

const headers = { authorization: `Basic ${btoa('alice:secret')}`, 'content-type': 'application/json' };

async function write({ url }: Container, name: string, data: object): Promise<number> {
  const body = JSON.stringify({ data });
  const response = await fetch(`${url}/buckets/${name}`, { method: 'PUT', headers, body });
  await response.text();
  return response.status;
}

async function readBack({ url }: Container, name: string): Promise<unknown> {
  return (await fetch(`${url}/buckets/${name}`, { headers })).json();
}

/** What the second Compose file sets for a service, with values put in. */
function composeEnvironment(service: string): Readonly<Record<string, string>> {
  const compose = parseYaml(read('docker-compose.postgres.yml'));
  const values = entriesOf(at(compose, 'services', service, 'environment')).map(([name, value]) => {
    const text = typeof value === 'string' ? value : '';
    if (text.startsWith('postgresql://')) return [name, postgresqlUrl];
    return [name, text.replace(/^\$\{POSTGRES_PASSWORD:.*\}$/, 'not asked for')];
  });
  return Object.fromEntries(values);
}

describe('The image', () => {
  test('holds the built service and what it needs to run, and nothing to build or test with.', () => {
    const has = (name: string): boolean => existsSync(path.join(image.root, 'app', name));
    const viewer = 'assets/swagger-ui/swagger-ui-bundle.js';
    const needed = ['dist/cli/main.js', 'bin/coffer.js', viewer, 'node_modules/pg', 'LICENSE'];
    expect(needed.filter(has)).toEqual(needed);
    const left = ['src', 'test', '.git', '.env', 'data', 'node_modules/typescript', 'node_modules/vitest'].filter(has);
    expect(left).toEqual([]);
  });

  test('serves as a user without rights on read-only files, keeps data on its volume, and stops with 0.', async () => {
    const before = listFiles(image);
    const first = await startContainer(image);
    expect(await first.checkHealth()).toBe(0);
    expect(await write(first, 'shop', { open: true })).toBe(201);
    expect(await first.stop()).toBe(0);
    expect(first.log.at(-1)?.['Type']).toBe('Stopped');

    const second = await startContainer(image);
    expect(await readBack(second, 'shop')).toMatchObject({ data: { id: 'shop', open: true } });
    expect(await second.stop()).toBe(0);

    expect(listFiles(image)).toEqual(before);
    const secret = statSync(path.join(image.root, 'data/secret'));
    expect(secret.mode & 0o777).toBe(0o600);
    if (isRoot) expect([secret.uid, secret.gid]).toEqual([image.user.uid, image.user.gid]);
  });

  test('listens on every address, at the port that a platform asks for.', async () => {
    expect(image.environment).toMatchObject({ HOST: '0.0.0.0', PORT: '8888' });
    const container = await startContainer(image);
    const listening = container.log.find(({ Type }) => Type === 'Listening');
    expect(listening).toMatchObject({ Fields: { url: expect.stringContaining(new URL(container.url).port) } });
    expect(await container.stop()).toBe(0);
  });

  test('is not healthy without a response.', async () => {
    const container = await startContainer(image);
    expect(await container.stop()).toBe(0);
    expect(await container.checkHealth()).toBe(1);
  });

  test('runs the other commands in the place of start.', async () => {
    expect(await runCommand(image, { command: ['version'] })).toEqual({
      code: 0,
      output: expect.stringMatching(/^\d+\./),
    });
    expect(await runCommand(image, { command: ['migrate', '--dry-run'] })).toMatchObject({ code: 0 });
  });

  test('keeps everything in PostgreSQL when it is set as in the Compose file, once the tables were made.', async () => {
    const migrate = { command: ['migrate'], environment: composeEnvironment('migrate') };
    expect((await runCommand(image, migrate)).code).toBe(0);
    expect(await runCommand(image, migrate)).toEqual({
      code: 0,
      output: expect.stringMatching(/: nothing to do\.\nDone\.\n$/),
    });
    const container = await startContainer(image, composeEnvironment('coffer'));
    expect(await readBack(container, 'shop')).toMatchObject({ code: 403 });
    expect(await write(container, 'warehouse', { full: false })).toBe(201);
    expect(await container.stop()).toBe(0);
  });
});
