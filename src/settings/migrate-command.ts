// The command that brings the backends up to date, as an operator has to type it: with the configuration file in use.
import type { Settings } from './settings.ts';

const bareCommand = 'coffer migrate';

/** Returns the command, with `--config` when the file was named and would not be found without. */
export function migrateCommand({ namedConfig }: Pick<Settings, 'namedConfig'>): string {
  return namedConfig === undefined ? bareCommand : `${bareCommand} --config ${quote(namedConfig)}`;
}

/** Returns a message with the whole command where it names the bare one, as backends do: they know no settings. */
export function completeCommand(message: string, settings: Pick<Settings, 'namedConfig'>): string {
  return message.replaceAll(`\`${bareCommand}\``, () => `\`${migrateCommand(settings)}\``);
}

function quote(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
