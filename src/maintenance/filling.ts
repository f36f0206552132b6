// The mark that a copy or an import leaves in its target until it is complete. Without it nothing would show that objects or
// permissions are missing.
import { getKey } from '../base/json.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import type { StorageBackend, StorageReader } from '../contracts/storage.ts';
import { formatAttributes } from '../core/objects/stored.ts';
import { fingerprintList } from './secret-fingerprints.ts';
import { inUnit } from './units.ts';
import { walkLists } from './walk.ts';

const id = 'filling';

/** Marks a store as being filled by a command. Commands that empty the store first mark it before and after. */
export async function markFilling(storage: StorageBackend, command: string): Promise<void> {
  await inUnit(storage.database, (transaction) =>
    storage.writer(transaction).update(fingerprintList, id, formatAttributes({ command })),
  );
}

/** Removes the mark of a store that is complete. */
export async function endFilling(storage: StorageBackend): Promise<void> {
  await inUnit(storage.database, (transaction) =>
    storage.writer(transaction).delete(fingerprintList, id, { keepTombstone: false }),
  );
}

/** Returns a sentence about a store that is not complete; `undefined` for others, and for empty ones. */
export async function describeFilling(reader: StorageReader): Promise<string | undefined> {
  const mark = await reader.get(fingerprintList, id);
  if (mark === undefined || (await walkLists(reader).next()).done === true) return undefined;
  const name = getKey(mark.attributes, 'command');
  const command = `coffer ${typeof name === 'string' ? name : 'import'}`;
  return `The data is incomplete: \`${command}\` was interrupted, or is still running. Objects and permissions may be missing. Stop the service, and complete the data with: ${command} … --resume`;
}

/** Warns of a store that is not complete. */
export async function warnOfFilling({ reader, database }: StorageBackend, logger: Logger): Promise<void> {
  if (!database.abilities.durable) return;
  try {
    const sentence = await describeFilling(reader);
    if (sentence !== undefined) logger.warn(sentence);
  } catch (error) {
    if (!(error instanceof BackendUnavailable)) throw error;
    logger.warn({ err: error }, 'The service could not find out whether an import has filled the store completely');
  }
}
