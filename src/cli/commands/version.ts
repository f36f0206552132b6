// `coffer version`: which software this is.
import { Command } from 'commander';
import { readVersion } from '../../settings/version.ts';
import { print } from '../terminal.ts';

/** The command. */
export function versionCommand(): Command {
  return new Command('version').description('print the version').action(() => {
    print(readVersion());
  });
}
