// The tests that RxDB publishes for replications with a server, unmodified, with the wiring of the README.
import { register } from 'node:module';
import * as vitest from 'vitest';
import { defaultIds, replicateCoffer } from '@coffer/rxdb';
import { addRxPlugin, randomToken } from 'rxdb';
import { RxDBAttachmentsPlugin } from 'rxdb/plugins/attachments';
import { newStorage, World } from './support.ts';

// The suite takes these functions of packages with many dependencies.
const source = `
  export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  export const randomString = (length = 5) => Math.random().toString(36).slice(2, 2 + length).padEnd(length, 'x');
  export default structuredClone;`;
const hooks = `
  const url = 'data:text/javascript,' + ${JSON.stringify(encodeURIComponent(source))};
  export const resolve = (name, context, next) =>
    name === 'async-test-util' || name === 'clone' ? { url, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

addRxPlugin(RxDBAttachmentsPlugin);
// It expects the functions of its runner as globals, and replaces those of the console.
Object.assign(globalThis, { describe: vitest.describe, it: vitest.it });
const { log, dir } = console;
const { runReplicationBaseTestSuite, setConfig, getConfig } = await import('rxdb/plugins/test-utils');
setConfig({ storage: { name: 'memory', getStorage: newStorage, hasAttachments: true } } as never);
console.log = () => undefined;
getConfig();
Object.assign(console, { log, dir });

const world = await World.start();
vitest.afterAll(() => world.close());
const list = await world.newList();

const start = (collection: any, options: object) =>
  replicateCoffer<any>({
    collection,
    client: world.client,
    list,
    replicationIdentifier: randomToken(10),
    pull: {},
    push: {},
    ...options,
  });
const once = async (collection: any, options: object): Promise<any> => {
  const state = start(collection, { replicationIdentifier: 'once', live: false, ...options });
  await state.awaitInitialReplication();
  return state;
};

runReplicationBaseTestSuite({
  startReplication: (collection: any) => start(collection, {}),
  syncOnce: (collection: any) => once(collection, {}),
  syncOnceWithAttachmentsDisabled: (collection: any) => once(collection, { attachments: false }),
  getAllServerDocs: async () => (await list.list().all()).data,
  cleanUpServer: () => list.deleteAll(),
  getPrimaryOfServerDoc: ({ id }: any) => defaultIds.decode(id),
} as never);
