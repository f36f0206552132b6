// Makes imports of `coffer` in plugins lead to the running package. A linked plugin lies where Node finds no such package. A
// plugin with a copy of its own would have other classes (`instanceof ServiceError`) than the service. And a package of that
// name in a registry belongs to others.
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { resolve as resolvePackage } from 'import-meta-resolve';

/** The used part of our own package.json, which lies at the same place above `src` and above `dist`. */
interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

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
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { name, exports } = JSON.parse(manifest) as Manifest;
  const names = Object.keys(exports).map((key) => name + key.slice(1));
  // By our own exports, whatever the name of the folder in which the package lies.
  const urls = new Map(names.map((exported) => [exported, resolvePackage(exported, import.meta.url)]));
  const { registerHooks } = nodeModule as NewerModule & typeof nodeModule;
  if (registerHooks === undefined) {
    // Older releases run such hooks in a thread of their own, and ask them for `import` but not for `require`.
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
