// `coffer delete-collection`: deletes a collection with its records, without tombstones and events.
import { Command } from 'commander';
import { loadDurable, requireWritable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface DeleteOptions extends CommonOptions {
  readonly bucket: string;
  readonly collection: string;
}

const examples = `
Exit codes:
  ${exitCodes.deleteCollectionReadonly}  readonly is true
  ${exitCodes.deleteCollectionBucketMissing}  the bucket does not exist
  ${exitCodes.deleteCollectionCollectionMissing}  the collection does not exist


Example:
  coffer delete-collection --bucket blog --collection articles
`;

export function deleteCollectionCommand(): Command {
  return new Command('delete-collection')
    .description('delete a collection with its records, without tombstones')
    .requiredOption('--bucket <id>', 'id of the bucket')
    .requiredOption('--collection <id>', 'id of the collection')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<DeleteOptions>();
      const { bucket, collection } = options;
      const settings = loadDurable(options);
      requireWritable(settings, exitCodes.deleteCollectionReadonly);
      const { deleteCollection } = await import('../../maintenance/deletions.ts');
      const outcome = await deleteCollection(settings, { bucket, collection });
      switch (outcome) {
        case 'done':
          if (options.quiet !== true) print(`Deleted /buckets/${bucket}/collections/${collection}.`);
          return;
        case 'bucket missing':
          throw new Exit(exitCodes.deleteCollectionBucketMissing, `the bucket ${bucket} does not exist`);
        case 'collection missing':
          throw new Exit(
            exitCodes.deleteCollectionCollectionMissing,
            `the collection ${collection} does not exist in ${bucket}`,
          );
      }
    });
}
