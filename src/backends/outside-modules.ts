// Backends from packages and files.
import { messageOf } from '../base/message-of.ts';
import type { BackendModule } from '../contracts/backend-module.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import { loadModule } from '../loader/modules.ts';

/**
 * Opens what a module exports for a setting.
 *
 * @param setting `storage_backend`
 * @param exported name of the function that the module needs
 * @param open calls it
 * @throws Error naming the setting and what is wrong with its module
 */
export async function openModule<K extends keyof BackendModule, T extends object>(
  { setting, name, exported }: { readonly setting: string; readonly name: string; readonly exported: K },
  open: (factory: NonNullable<BackendModule[K]>) => T | Promise<T>,
): Promise<T> {
  try {
    const module: BackendModule = await loadModule(name);
    const factory = module[exported];
    if (typeof factory !== 'function') throw new Error(`that module exports no function ${exported}.`);
    const opened: T | undefined = await open(factory);
    if (typeof opened !== 'object') throw new Error(`${exported} of that module returned nothing.`);
    return opened;
  } catch (error) {
    // One that may be there later is waited for, like those of ours.
    if (error instanceof BackendUnavailable) throw error;
    const builtIn = 'memory, sqlite, postgresql and redis';
    throw new Error(`${setting} names ${name}, and built in are ${builtIn}: ${messageOf(error)}`, { cause: error });
  }
}
