// The configuration of the README for the end-to-end suites of TanStack DB, with the calls of the suites.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TestService } from '../../../src/testing/index.ts';
import { TestedPackage } from '../package-checks.ts';
import { fixture, kinds, userOf, type Kind } from './contract.ts';
import { memory, until } from './support.ts';

type Row = Readonly<Record<string, any>>;

interface Config {
  readonly fixture: () => Record<Kind, Row[]>;
  readonly collections: Record<'eager' | 'onDemand' | 'progressive', Record<Kind, any>>;
  readonly hasReplicationLag: boolean;
  readonly progressiveTestControl: { readonly releaseInitialSync: () => void };
  readonly mutations: Record<string, (...values: unknown[]) => Promise<unknown>>;
  readonly setup: () => Promise<void>;
  readonly teardown: () => Promise<void>;
}

const tested = new TestedPackage('tanstack-db');
let service: TestService;
beforeEach(async () => {
  vi.spyOn(console, 'warn').mockReturnValue();
  service = await memory.start({});
});
afterEach(() => service.close());

it('The configuration of the README has what the suites of TanStack DB need.', async () => {
  const rows = fixture();
  const seed = Object.fromEntries(kinds.map((kind) => [kind, rows[kind].slice(0, 12)])) as Record<
    string,
    Row[]
  > as Record<Kind, Row[]>;
  vi.stubGlobal('seed', seed);
  const readme = readFileSync(path.join(tested.root, 'README.md'), 'utf8');
  const [, code = ''] = /^```js\n(.*?)^```$/ms.exec(readme)!;
  const file = path.join(tested.folder, 'suites.mjs');
  const queries = "export { createLiveQueryCollection, eq } from '@tanstack/db';";
  writeFileSync(file, await tested.bundle(`${code.replace('http://127.0.0.1:8888', service.origin)}${queries}`));
  const { config, createLiveQueryCollection, eq } = (await import(file)) as {
    readonly config: Config;
    readonly createLiveQueryCollection: (query: (q: any) => any) => any;
    readonly eq: (one: unknown, other: unknown) => unknown;
  };
  const { collections, mutations, progressiveTestControl } = config;
  expect(config.fixture()).toEqual(seed);
  expect(config.hasReplicationLag).toBe(true);
  await config.setup();

  const { eager, onDemand, progressive } = collections;
  for (const kind of kinds) {
    expect(new Set(eager[kind].keys())).toEqual(new Set(seed[kind].map(({ id }) => id)));
    expect([onDemand[kind].size, progressive[kind].size]).toEqual([0, 0]);
  }
  expect(eager.posts.get(seed.posts[1]!['id'])).toMatchObject(seed.posts[1]!);
  const preload = progressive.users.preload();
  progressiveTestControl.releaseInitialSync();
  await preload;
  expect(progressive.users.size).toBe(12);

  const active = createLiveQueryCollection((q) =>
    q.from({ user: onDemand.users }).where(({ user }: any) => eq(user.isActive, true)),
  );
  await active.preload();
  const user = userOf('New', 30);
  const { id } = user;
  const sets = [eager.users, progressive.users, active];
  await mutations['insertUser']!(user);
  await until(() => sets.every((users) => users.has(id)));
  expect(active.get(id)).toMatchObject(user);
  const createdAt = new Date(0);
  await mutations['updateUser']!(id, { age: 31, createdAt });
  await until(() => sets.every((users) => users.get(id).age === 31));
  expect(active.get(id).createdAt).toEqual(createdAt);
  await mutations['deleteUser']!(id);
  await until(() => !sets.some((users) => users.has(id)));
  const post = { ...rows.posts[20], largeViewCount: 2n ** 60n };
  await mutations['insertPost']!(post);
  await until(() => eager.posts.has(rows.posts[20]!.id));
  expect(eager.posts.get(rows.posts[20]!.id)).toMatchObject(post);
  await mutations['deletePost']!(rows.posts[20]!.id);
  await until(() => !eager.posts.has(rows.posts[20]!.id));
  await active.cleanup();
  await config.teardown();
});
