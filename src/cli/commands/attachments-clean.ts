// `coffer attachments-clean`: deletes files that no record has.
import { Command } from 'commander';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface CleanOptions extends CommonOptions {
  readonly olderThan: string;
  readonly dryRun?: true;
}

const examples = `
A process that dies at the wrong moment may leave a file behind that belongs to no record, never a record without its
file. The service may go on running meanwhile. Everything in the folder or bucket of attachments counts as a file of this
service, so keep nothing else there.

Example:
  coffer attachments-clean --dry-run    tell what would be deleted
`;

/** The command. */
export function attachmentsCleanCommand(): Command {
  return new Command('attachments-clean')
    .description('delete attachments that no record has')
    .option('--older-than <hours>', 'leave files alone that are newer than this', '24')
    .option('--dry-run', 'tell what would be deleted, and delete nothing')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<CleanOptions>();
      if (!/^\d{1,6}$/.test(options.olderThan) || Number(options.olderThan) < 1) {
        throw new Exit(exitCodes.usage, '--older-than takes a whole number of hours, 1 or more');
      }
      const dryRun = options.dryRun === true;
      const { cleanAttachments } = await import('../../app/maintenance.ts');
      const files = await cleanAttachments(loadDurable(options), { olderThanHours: Number(options.olderThan), dryRun });
      if (options.quiet === true) return;
      if (dryRun) for (const { name, sizeBytes } of files) print(`${name} (${sizeBytes} bytes)`);
      const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const count = `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes`;
      print(dryRun ? `Would delete ${count}.` : `Deleted ${count}.`);
    });
}
