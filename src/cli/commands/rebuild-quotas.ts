// `coffer rebuild-quotas`: counts anew what buckets and collections hold.
import process from 'node:process';
import { Command } from 'commander';
import type { RebuildOptions } from '../../app/quotas.ts';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { print } from '../terminal.ts';

interface RebuildCommandOptions extends CommonOptions {
  readonly dryRun?: true;
}

const examples = `
Quotas are counted with every change. Run this when quotas were switched on for data that was there before, or after a
service without quotas has changed it. The service may run meanwhile: writers of a bucket wait while it is counted.

Examples:
  coffer rebuild-quotas --dry-run    only tell which counters are wrong
  coffer rebuild-quotas
`;

/** The command. */
export function rebuildQuotasCommand(): Command {
  return new Command('rebuild-quotas')
    .description('recount the records and bytes of buckets and collections')
    .option('--dry-run', 'only tell what would be done')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await rebuild(command.optsWithGlobals<RebuildCommandOptions>());
    });
}

async function rebuild(options: RebuildCommandOptions): Promise<void> {
  const { rebuildQuotas } = await import('../../app/quotas.ts');
  const dryRun = options.dryRun === true;
  const isQuiet = options.quiet === true;
  const progress = new Progress(process.stderr, () => performance.now());
  const lines: string[] = [];
  const outcome = await rebuildQuotas(loadDurable(options), {
    dryRun,
    onProgress: (objects, total) => {
      if (!isQuiet) progress.update('objects', objects, total);
    },
    onWrong: (recount) => lines.push(describe(recount)),
  });
  if (!isQuiet) progress.finish();
  if (outcome === 'readonly') {
    throw new Exit(exitCodes.rebuildQuotasReadonly, 'readonly is set: counters must not be changed from here');
  }
  if (outcome === 'not included') {
    throw new Exit(exitCodes.rebuildQuotasNotIncluded, 'the plugin quotas is not included, so nothing is counted');
  }
  if (isQuiet) return;
  for (const line of lines) print(line);
  const counters = outcome === 1 ? '1 counter' : `${outcome} counters`;
  print(outcome === 0 ? 'All counters are right.' : `${counters} ${dryRun ? 'would be' : 'were'} corrected.`);
}

type Wrong = Parameters<RebuildOptions['onWrong']>[0];

function describe({ uri, stored, counted }: Wrong): string {
  const before = stored === undefined ? 'not counted before' : `was ${amounts(stored)}`;
  return `${uri}: ${amounts(counted)} (${before})`;
}

function amounts({ records, size }: Wrong['counted']): string {
  return `${records} ${records === 1 ? 'record' : 'records'}, ${size} bytes`;
}
