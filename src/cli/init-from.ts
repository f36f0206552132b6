// `coffer init --from`: a configuration file written anew from an old one, such as that of a Kinto.
import { extname } from 'node:path';
import process from 'node:process';
import { coreFamilies } from '../settings/families.ts';
import { examineSettings } from '../settings/load.ts';
import { describeProblem } from '../settings/problems.ts';
import { rewriteConfigFile } from '../settings/rewrite.ts';
import { coreSettings } from '../settings/table.ts';
import { writeNewFile } from './new-file.ts';
import { printError, print } from './terminal.ts';

/**
 * Prints the new file, or writes it where none is.
 *
 * @param target the file to write; `undefined`: standard output
 * @throws Exit when the file cannot be written, or when lines of the old one could not be understood
 */
export async function initFrom(source: string, target: string | undefined): Promise<void> {
  const { findVocabulary } = await import('../app/vocabulary.ts');
  const { settings } = examineSettings({ configFile: source, environment: {}, purpose: 'other' });
  const { tables, families } = await findVocabulary(settings);
  const { text, problems } = rewriteConfigFile(source, {
    format: target !== undefined && extname(target).toLowerCase() === '.toml' ? 'toml' : 'ini',
    tables: [coreSettings, ...tables],
    families: [...coreFamilies, ...families],
  });
  for (const problem of problems) printError(describeProblem(problem));
  if (target === undefined) process.stdout.write(text);
  else {
    writeNewFile(target, text);
    print(`Wrote ${target}. Look at it with: coffer check --config ${target}`);
  }
}
