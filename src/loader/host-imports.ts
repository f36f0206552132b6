// Resolves imports of `coffer` in plugins to the running package. In the folder of a linked plugin, Node finds no such
// package. A plugin with its own copy would have other classes (`instanceof ServiceError`) than the service. And the package
// of that name in a registry is a different one.
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { resolve as resolvePackage } from 'import-meta-resolve';

/** The used part of our own package.json, which is one folder above both `src` and `dist`. */
interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

/** `registerHooks` is newer than the oldest supported Node.js and its types. */
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

/** Resolves imports of this package to the running package, in all modules loaded from now on. */
export function shareHost(): void {
  if (isDone) return;
  isDone = true;
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { name, exports } = JSON.parse(manifest) as Manifest;
  const names = Object.keys(exports).map((key) => name + key.slice(1));
  // Uses our own exports, because the folder of the package may have any name.
  const urls = new Map(names.map((exported) => [exported, resolvePackage(exported, import.meta.url)]));
  const { registerHooks } = nodeModule as NewerModule & typeof nodeModule;
  if (registerHooks === undefined) {
    // Older releases run such hooks in a separate thread, for `import` but not for `require`.
    nodeModule.register(new URL('./loader/host-import-hooks.js', urls.get(name)), { data: urls });
    return;
  }
  registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier);
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
    },
  });
}
