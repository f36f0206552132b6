// `coffer version`: which software this is.
import { Command } from 'commander';
import { readVersion } from '../../settings/version.ts';
import { say } from '../terminal.ts';

/** The command. */
export function versionCommand(): Command {
  return new Command('version').description('print the version').action(() => {
    say(readVersion());
  });
}
