// `coffer export`: writes all data to one file or to standard output.
import process from 'node:process';
import { Command } from 'commander';
import { loadForBackends, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { withProgress } from '../progress.ts';
import { print, printError } from '../terminal.ts';

const examples = `
Exports objects, tombstones, permissions, memberships and list clocks: one JSON object per line, with a checksum at the
end. "coffer import file" restores the file into the same or another backend. Exit code ${exitCodes.failed} means failure.

A file name that ends in .gz is compressed. The file appears under its name when it is complete and on disk; existing
files are never replaced. With "-" the export goes to standard output, uncompressed, and messages go to standard error.
The file contains password hashes, so only its owner can read it.

The backends may be in use. Each list is then consistent at the time its last line is written, but the lists are not
written at the same moment; the command reports the number of lists that changed. For one consistent moment, set
readonly = true first.

Not included: attached files, the cache and userid_hmac_secret. Keep the secret: with a different one all user ids change,
and users lose access to their data.

Examples:
  coffer export backup.ndjson
  coffer export backup.ndjson.gz --config /etc/coffer.ini --quiet
  coffer export - | zstd > backup.ndjson.zst
  coffer export - | ssh backup@elsewhere 'cat > backup.ndjson'
`;

export function exportCommand(): Command {
  return new Command('export')
    .description('write all data to one file')
    .argument('<file>', 'file to write; .gz compresses it, - is standard output')
    .addHelpText('after', examples)
    .action(async (file: string, _options, command: Command) => {
      await exportAll(file, command.optsWithGlobals<CommonOptions>());
    });
}

async function exportAll(file: string, options: CommonOptions): Promise<void> {
  if (file === '')
    throw new Exit(exitCodes.usage, 'the name of the file is empty; give a name, or - for standard output');
  const { exportInto } = await import('../../transfer/export/export.ts');
  const { ExportRefused } = await import('../../transfer/export/export-file.ts');
  try {
    const target = file === '-' ? process.stdout : file;
    const { lists, objects, tombstones, permissions, moving } = await withProgress(options.quiet, (onProgress) =>
      exportInto(target, loadForBackends(options), onProgress),
    );
    if (moving > 0) {
      printError(`${moving} of ${lists} lists changed during the export; set readonly = true for a consistent export.`);
    }
    if (options.quiet === true) return;
    const summary = `${lists} lists, ${objects} objects, ${tombstones} tombstones, permissions of ${permissions} objects`;
    if (file === '-') printError(`standard output: ${summary}`);
    else print(`${file}: ${summary}`);
  } catch (error) {
    if (error instanceof ExportRefused) throw new Exit(exitCodes.failed, error.message);
    throw error;
  }
}
