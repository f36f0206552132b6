// `coffer attachments-clean`: deletes attachments without a record.
import { Command } from 'commander';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface CleanOptions extends CommonOptions {
  readonly olderThan: string;
  readonly dryRun?: true;
}

const examples = `
A crash may leave a file without a record, but never a record without its file. The service may run. All files in the
folder or bucket of attachments count as files of this service, so store nothing else there.

Example:
  coffer attachments-clean --dry-run    list the files to delete
`;

export function attachmentsCleanCommand(): Command {
  return new Command('attachments-clean')
    .description('delete attachments without a record')
    .option('--older-than <hours>', 'minimum age of the files to delete', '24')
    .option('--dry-run', 'list the files, delete nothing')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<CleanOptions>();
      if (!/^\d{1,6}$/.test(options.olderThan) || Number(options.olderThan) < 1) {
        throw new Exit(exitCodes.usage, '--older-than must be a whole number of hours, 1 or more');
      }
      const dryRun = options.dryRun === true;
      const { cleanAttachments } = await import('../../maintenance/deletions.ts');
      const files = await cleanAttachments(loadDurable(options), { olderThanHours: Number(options.olderThan), dryRun });
      if (options.quiet === true) return;
      if (dryRun) for (const { name, sizeBytes } of files) print(`${name} (${sizeBytes} bytes)`);
      const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const count = `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes`;
      print(dryRun ? `Would delete ${count}.` : `Deleted ${count}.`);
    });
}
