// `coffer version`: prints the version of the software.
import { Command } from 'commander';
import { readVersion } from '../../settings/version.ts';
import { print } from '../terminal.ts';

export function versionCommand(): Command {
  return new Command('version').description('print the version').action(() => {
    print(readVersion());
  });
}
