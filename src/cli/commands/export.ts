// `coffer export`: everything in one file, or on standard output, that any backend can be filled from again.
import process from 'node:process';
import { Command } from 'commander';
import { loadForBackends, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { printError, print } from '../terminal.ts';

const examples = `
Writes objects, tombstones, permissions, memberships and the clocks of all lists of the backends of the configuration in
force, one JSON object on a line, with a checksum at the end. "coffer import file" brings it back, into the same or
another backend. A name that ends in .gz is compressed. The file gets its name when it is complete and on the disk; an
existing one is never replaced. With "-" everything goes to standard output, uncompressed, and all messages go to
standard error; a reader knows from the checksum whether it has everything. The file holds accounts with the hashes of
their passwords, so only its owner may read it.

The backends may be in use. Each list is then written as it is when its last line is written, but not all lists at one
moment; how many lists were written to meanwhile is told. For one moment of everything set "readonly = true" first.

Files that are attached to records, the cache and userid_hmac_secret are not in it. Keep the secret: with another one every
user gets another id, and loses access to their data.

Examples:
  coffer export backup.ndjson
  coffer export backup.ndjson.gz --config /etc/coffer.ini --quiet
  coffer export - | zstd > backup.ndjson.zst
  coffer export - | ssh backup@elsewhere 'cat > backup.ndjson'
`;

/** The command. */
export function exportCommand(): Command {
  return new Command('export')
    .description('write everything into one file')
    .argument('<file>', 'the file to write; compressed if its name ends in .gz; - is standard output')
    .addHelpText('after', examples)
    .action(async (file: string, _options, command: Command) => {
      await exportAll(file, command.optsWithGlobals<CommonOptions>());
    });
}

async function exportAll(file: string, options: CommonOptions): Promise<void> {
  const { exportInto } = await import('../../app/export/export.ts');
  const { ExportRefused } = await import('../../app/export/export-file.ts');
  const progress = new Progress(process.stderr, () => performance.now());
  const isQuiet = options.quiet === true;
  try {
    const onProgress = isQuiet ? undefined : progress.update.bind(progress);
    const target = file === '-' ? process.stdout : file;
    const settings = loadForBackends(options);
    const { lists, objects, tombstones, permissions, moving } = await exportInto(target, settings, onProgress);
    if (moving > 0) {
      printError(
        `${moving} of ${lists} lists were written to meanwhile; set readonly = true for one moment of everything.`,
      );
    }
    if (isQuiet) return;
    progress.finish();
    const summary = `${lists} lists, ${objects} objects, ${tombstones} tombstones, permissions of ${permissions} objects`;
    if (file === '-') printError(`standard output: ${summary}`);
    else print(`${file}: ${summary}`);
  } catch (error) {
    if (!isQuiet) progress.finish();
    if (error instanceof ExportRefused) throw new Exit(exitCodes.failed, error.message);
    throw error;
  }
}
