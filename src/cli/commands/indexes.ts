// `coffer indexes`: lists the declared indexes of all collections, and completes them.
import { Command } from 'commander';
import type { ListedIndexes } from '../../maintenance/indexes.ts';
import { loadDurable, type CommonOptions } from '../common.ts';
import { formatBar, formatCount, withProgress } from '../progress.ts';
import { print } from '../terminal.ts';

interface IndexesOptions extends CommonOptions {
  readonly build?: true;
}

const examples = `
Collections declare indexes in their attribute "indexes". A running service builds them in the background. With --build
this command builds them now; the service may run meanwhile.

Examples:
  coffer indexes            list all indexes: state, progress, estimated size and last use
  coffer indexes --build    complete them, with a progress bar
`;

export function indexesCommand(): Command {
  return new Command('indexes')
    .description('list the declared indexes of collections, and complete them')
    .option('--build', 'complete the indexes')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await review(command.optsWithGlobals<IndexesOptions>());
    });
}

async function review(options: IndexesOptions): Promise<void> {
  const { buildIndexes, listIndexes } = await import('../../maintenance/indexes.ts');
  const settings = loadDurable(options);
  if (options.build === true) {
    await withProgress(options.quiet, (update) =>
      buildIndexes(settings, (done, total) => update?.('objects', done, total)),
    );
  }
  const lists = await listIndexes(settings);
  if (options.quiet === true) return;
  if (lists.length === 0) print('No collection declares indexes.');
  for (const list of lists) for (const line of describe(list)) print(line);
}

function describe({ list, indexes }: ListedIndexes): readonly string[] {
  const name = list.kind === 'record' ? list.parent : `${list.parent} (${list.kind})`;
  return indexes.map((index) => {
    const { status, done, total, sizeBytes, lastUsed } = index;
    const bar = status === 'building' && total > 0 ? ` ${formatBar(Math.min(1, done / total))}` : '';
    const parts = [
      `${status}${bar}`,
      `${formatCount(done)} of ${formatCount(total)} objects`,
      `about ${formatCount(sizeBytes)} bytes`,
      lastUsed === null
        ? 'never used'
        : `last used ${new Date(lastUsed).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)}Z`,
    ];
    const duplicates = status === 'failed' ? `; ${index.duplicates.join(' and ')} have the same values` : '';
    return `${name}: ${index.name}${index.isUnique ? ' (unique)' : ''}: ${parts.join(', ')}${duplicates}`;
  });
}
