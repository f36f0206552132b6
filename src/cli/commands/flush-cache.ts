// `coffer flush-cache`: empties the cache backend.
import { Command } from 'commander';
import { loadForBackends, requireDurable, type CommonOptions } from '../common.ts';
import { print } from '../terminal.ts';

/** The command. */
export function flushCacheCommand(): Command {
  return new Command('flush-cache')
    .description('empty the cache backend')
    .addHelpText('after', '\nThe memory cache of a running service is its own and cannot be reached from here.\n')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const settings = loadForBackends(options);
      if (settings.get('cache_backend') === 'memory') {
        requireDurable(settings);
        if (options.quiet !== true) print('cache_backend is memory: a restart of the service empties the cache.');
        return;
      }
      const { flushCache } = await import('../../app/maintenance.ts');
      await flushCache(settings);
      if (options.quiet !== true) print('The cache is empty.');
    });
}
