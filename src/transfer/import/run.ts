// Opens the target of an import as the settings name it, and imports into it.
import type { Settings } from '../../settings/settings.ts';
import { CopyRefused, openPlace } from '../copy/places.ts';
import { importInto, type ImportOptions, type ImportResult } from './import.ts';
import { ImportRefused } from './transport.ts';

/**
 * Imports into the backends of the settings, or compares them with the source.
 *
 * @throws ImportRefused
 */
export async function importWith(settings: Settings, options: ImportOptions): Promise<ImportResult> {
  try {
    const target = await openPlace({ name: 'target', settings }, { creates: options.mode !== 'verify' });
    try {
      return await importInto(target, settings, options);
    } finally {
      await target.close();
    }
  } catch (error) {
    if (error instanceof CopyRefused) throw new ImportRefused(error.message, { cause: error });
    throw error;
  }
}
