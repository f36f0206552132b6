// Plugins import `coffer`, and have to get the package that runs them: a linked plugin lies where Node finds no such package,
// one with a copy of its own would have other classes (`instanceof ServiceError`) than the service, and a package of that name
// in a registry is somebody else's. So while modules from outside are loaded, the names that this package exports lead here.
import * as nodeModule from 'node:module';
import { resolve as resolvePackage } from 'import-meta-resolve';

/** What this package exports to plugins. */
const names = ['coffer', 'coffer/testing', 'coffer/package.json'];

/** `registerHooks` is newer than the oldest Node.js that we support, and than its types. */
interface NewerModule {
  readonly registerHooks?: (hooks: {
    readonly resolve: <Context, Resolved>(
      specifier: string,
      context: Context,
      next: (specifier: string, context: Context) => Resolved,
    ) => Resolved | { readonly url: string; readonly shortCircuit: true };
  }) => unknown;
}

let isDone = false;

/** Makes imports of this package lead to the package that is running, in all modules that are loaded from now on. */
export function shareHost(): void {
  if (isDone) return;
  isDone = true;
  // By the exports of our own package.json, whatever the name of the folder in which the package lies.
  const urls = new Map(names.map((name) => [name, resolvePackage(name, import.meta.url)]));
  const { registerHooks } = nodeModule as NewerModule & typeof nodeModule;
  if (registerHooks === undefined) {
    // Older releases run such hooks in a thread of their own, and ask them for `import` but not for `require`.
    nodeModule.register(new URL('./app/host-import-hooks.js', urls.get('coffer')), { data: urls });
    return;
  }
  registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier);
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
    },
  });
}
