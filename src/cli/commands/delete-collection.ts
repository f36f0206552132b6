// `coffer delete-collection`: removes one collection with its records, without tombstones and without events.
import { Command } from 'commander';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface DeleteOptions extends CommonOptions {
  readonly bucket: string;
  readonly collection: string;
}

const examples = `
Exit codes: ${exitCodes.deleteCollectionReadonly} in readonly mode, ${exitCodes.deleteCollectionBucketMissing} when there is no such bucket, ${exitCodes.deleteCollectionCollectionMissing} when there is no such collection.

Example:
  coffer delete-collection --bucket blog --collection articles
`;

/** The command. */
export function deleteCollectionCommand(): Command {
  return new Command('delete-collection')
    .description('delete a collection and everything in it, without tombstones')
    .requiredOption('--bucket <id>', 'bucket of the collection')
    .requiredOption('--collection <id>', 'the collection')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<DeleteOptions>();
      const { bucket, collection } = options;
      const { deleteCollection } = await import('../../app/maintenance.ts');
      const outcome = await deleteCollection(loadDurable(options), { bucket, collection });
      switch (outcome) {
        case 'done':
          if (options.quiet !== true) print(`Deleted /buckets/${bucket}/collections/${collection}.`);
          return;
        case 'readonly':
          throw new Exit(exitCodes.deleteCollectionReadonly, 'the service is in readonly mode');
        case 'bucket missing':
          throw new Exit(exitCodes.deleteCollectionBucketMissing, `there is no bucket ${bucket}`);
        case 'collection missing':
          throw new Exit(
            exitCodes.deleteCollectionCollectionMissing,
            `there is no collection ${collection} in ${bucket}`,
          );
      }
    });
}
