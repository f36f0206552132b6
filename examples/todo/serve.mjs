// What the application needs to run on this machine: settings of the service, the bucket, and a server for the page.
import path from 'node:path';
import { basic, Coffer } from '@coffer/client';
import { build, preview } from 'vite';
import { prepare } from './setup.mjs';

const root = import.meta.dirname;

/** Settings of the service: users create their own accounts. */
export const settings = {
  includes: 'accounts',
  'multiauth.policies': 'account',
  account_create_principals: 'system.Everyone',
};

/** The settings as environment variables of the service. */
export const environment = Object.fromEntries(
  Object.entries(settings).map(([name, value]) => [`SVC_${name.toUpperCase().replaceAll('.', '_')}`, value]),
);

/**
 * Creates the account that owns the bucket, and the bucket.
 *
 * @param {string} server root of the API
 * @param {string} password of the account `todo-owner`
 */
export async function createBucket(server, password) {
  const owner = { name: 'todo-owner', password };
  const { user } = await new Coffer(server, { auth: basic(owner.name, password) }).info();
  if (user?.id !== 'account:todo-owner') {
    await new Coffer(server).request('PUT', `/accounts/${owner.name}`, { body: { data: { password } } });
  }
  await prepare(server, owner);
}

/** Builds the page into a folder. */
export async function buildPage(outDir = path.join(root, 'dist')) {
  await build({ root, logLevel: 'error', build: { outDir, emptyOutDir: true } });
}

/**
 * Serves the built page, with the API of a service below the same origin.
 *
 * @param {string} service origin of the service
 * @param {{ port?: number, outDir?: string }} [options] port 0: any free one
 */
export async function servePage(service, { port = 0, outDir = path.join(root, 'dist') } = {}) {
  const proxy = { '/v1': { target: service } };
  const server = await preview({
    root,
    logLevel: 'warn',
    build: { outDir },
    preview: { host: '127.0.0.1', port, strictPort: true, proxy },
  });
  const { port: actual } = /** @type {import('node:net').AddressInfo} */ (server.httpServer.address());
  return { origin: `http://localhost:${actual}`, close: () => server.close() };
}
