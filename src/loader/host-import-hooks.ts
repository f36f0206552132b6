// Runs in the thread that resolves imports, for `host-imports.ts`, on releases of Node.js without `module.registerHooks`.
import type { InitializeHook, ResolveHook } from 'node:module';

let urls: ReadonlyMap<string, string> = new Map();

/** Stores the URLs of the exports of the running package. */
export const initialize: InitializeHook<ReadonlyMap<string, string>> = (given) => {
  urls = given;
};

/** Resolves the names of the running package, and leaves all others alone. */
export const resolve: ResolveHook = (specifier, context, next) => {
  const url = urls.get(specifier);
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
};
