// The command that migrates the backends, with the configuration file in use.
import type { Settings } from './settings.ts';

const bareCommand = 'coffer migrate';

/** Returns the command, with `--config` unless the file is a default one. */
export function migrateCommand({ namedConfig }: Pick<Settings, 'namedConfig'>): string {
  return namedConfig === undefined ? bareCommand : `${bareCommand} --config ${quote(namedConfig)}`;
}

/** Completes the bare command in a message of a backend, which does not know the settings. */
export function completeCommand(message: string, settings: Pick<Settings, 'namedConfig'>): string {
  return message.replaceAll(`\`${bareCommand}\``, () => `\`${migrateCommand(settings)}\``);
}

function quote(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
