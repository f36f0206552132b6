// `coffer rebuild-quotas`: recounts the contents of buckets and collections.
import { Command } from 'commander';
import type { RebuildOptions } from '../../maintenance/quotas.ts';
import { loadDurable, requireWritable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { withProgress } from '../progress.ts';
import { print } from '../terminal.ts';

interface RebuildCommandOptions extends CommonOptions {
  readonly dryRun?: true;
}

const examples = `
The service updates the counters with every change. Run this after enabling quotas for existing data, or after a service
without quotas has changed data. The service may run; writers to a bucket wait while it is counted.

Examples:
  coffer rebuild-quotas --dry-run    list wrong counters
  coffer rebuild-quotas
`;

export function rebuildQuotasCommand(): Command {
  return new Command('rebuild-quotas')
    .description('recount the records and bytes of buckets and collections')
    .option('--dry-run', 'list wrong counters, change nothing')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await rebuild(command.optsWithGlobals<RebuildCommandOptions>());
    });
}

async function rebuild(options: RebuildCommandOptions): Promise<void> {
  const settings = loadDurable(options);
  requireWritable(settings, exitCodes.rebuildQuotasReadonly);
  if (!settings.get('includes').includes('quotas')) {
    throw new Exit(exitCodes.rebuildQuotasNotIncluded, 'the plugin quotas is not in includes, so it has no counters');
  }
  const { rebuildQuotas } = await import('../../maintenance/quotas.ts');
  const dryRun = options.dryRun === true;
  const lines: string[] = [];
  const outcome = await withProgress(options.quiet, (update) =>
    rebuildQuotas(settings, {
      dryRun,
      onProgress: (objects, total) => update?.('objects', objects, total),
      onWrong: (recount) => lines.push(describe(recount)),
    }),
  );
  if (options.quiet === true) return;
  for (const line of lines) print(line);
  const counters = outcome === 1 ? '1 counter' : `${outcome} counters`;
  print(outcome === 0 ? 'All counters are correct.' : `${counters} ${dryRun ? 'would be' : 'were'} corrected.`);
}

type Wrong = Parameters<RebuildOptions['onWrong']>[0];

function describe({ uri, stored, counted }: Wrong): string {
  const before = stored === undefined ? 'not counted before' : `was ${amounts(stored)}`;
  return `${uri}: ${amounts(counted)} (${before})`;
}

function amounts({ records, size }: Wrong['counted']): string {
  return `${records} ${records === 1 ? 'record' : 'records'}, ${size} bytes`;
}
