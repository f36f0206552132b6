// `coffer flush-cache`: empties the cache backend.
import { Command } from 'commander';
import { loadForBackends, requireDurable, type CommonOptions } from '../common.ts';
import { print } from '../terminal.ts';

export function flushCacheCommand(): Command {
  return new Command('flush-cache')
    .description('empty the cache backend')
    .addHelpText(
      'after',
      '\nA cache in memory belongs to the running service: restart the service to empty it.\n\nExample:\n  coffer flush-cache\n',
    )
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const settings = loadForBackends(options);
      if (settings.get('cache_backend') === 'memory') {
        requireDurable(settings);
        if (options.quiet !== true) print('cache_backend is memory: restart the service to empty the cache.');
        return;
      }
      const { flushCache } = await import('../../maintenance/deletions.ts');
      await flushCache(settings);
      if (options.quiet !== true) print('The cache is empty.');
    });
}
