// Loads modules of the tests, which are not built, for scripts that share something with them.
import { fileURLToPath } from 'node:url';
import { createViteServer } from 'vitest/node';

/**
 * Calls a function with a module of the tests.
 *
 * @template Result
 * @param {string} path of the module, from the root of the repository
 * @param {(module: any) => Promise<Result> | Result} use
 * @returns {Promise<Result>}
 */
export async function withTestModule(path, use) {
  const server = await createViteServer({
    root: fileURLToPath(new URL('..', import.meta.url)),
    configFile: false,
    appType: 'custom',
    logLevel: 'error',
    server: { middlewareMode: true, watch: null, ws: false },
    optimizeDeps: { noDiscovery: true },
  });
  try {
    return await use(await server.ssrLoadModule(path));
  } finally {
    await server.close();
  }
}
