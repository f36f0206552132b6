// Loads the modules that the settings name: plugins, listeners and backends from packages or files.
import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { resolve as resolvePackage } from 'import-meta-resolve';
import { messageOf } from '../base/message-of.ts';
import { shareHost } from './host-imports.ts';

/**
 * Loads a module by path (absolute, or relative to the folder) or by package name, which is searched from the folder upwards
 * and then from this package. Its imports of `coffer` resolve to the running package.
 *
 * @throws Error naming the module that was not found and the folder, or the reason why loading failed
 */
export async function loadModule(name: string, folder: string = process.cwd()): Promise<Record<string, unknown>> {
  const url = findModule(name, folder);
  shareHost();
  try {
    const loaded: unknown = await import(url);
    return loaded as Record<string, unknown>;
  } catch (error) {
    throw new Error(`The module ${name} could not be loaded: ${messageOf(error)}`, { cause: error });
  }
}

/** Whether the name has the form of a path, not of a package. */
export function isModulePath(name: string): boolean {
  return name.startsWith('.') || isAbsolute(name) || name.startsWith('file:');
}

function findModule(name: string, folder: string): string {
  if (name.startsWith('file:')) return name;
  if (isModulePath(name)) {
    const path = resolve(folder, name);
    if (!existsSync(path)) throw new Error(`No module exists at ${path}.`);
    return pathToFileURL(path).href;
  }
  // The second place is for a global installation, next to which the packages are installed.
  for (const parent of [pathToFileURL(join(folder, 'settings')).href, import.meta.url]) {
    try {
      return resolvePackage(name, parent);
    } catch (error) {
      if (!isMissing(error)) throw new Error(`The package ${name} has no entry: ${messageOf(error)}`, { cause: error });
    }
  }
  throw new Error(`No package ${name} was found: install it in ${folder}, or name a file as ./path/to/module.js.`);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}
