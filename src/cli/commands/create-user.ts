// `coffer create-user`: creates an account, such as that of the first administrator.
import { Command } from 'commander';
import type { Settings } from '../../settings/settings.ts';
import { loadDurable, requireWritable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { printError, print, Prompt } from '../terminal.ts';

interface UserOptions extends CommonOptions {
  readonly username?: string;
  readonly password?: string;
}

const examples = `
Asks for a missing name and password. On a terminal the password is hidden and asked twice; otherwise the lines of the
standard input are the answers. An existing account is replaced with all its attributes.

Exit codes: ${exitCodes.createUserReadonly} in readonly mode, ${exitCodes.createUserNoPlugin} without the plugin accounts, ${exitCodes.createUserNoInput} when the input ends.

Examples:
  coffer create-user -u admin                        asks for the password
  coffer create-user -u admin < password.txt         reads it from a file
`;

export function createUserCommand(): Command {
  return new Command('create-user')
    .description('create an account, or replace it')
    .option('-u, --username <name>', 'name of the account')
    .option('-p, --password <text>', 'password; visible to other users of this machine in the process list')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<UserOptions>();
      const settings = loadDurable(options, 'accounts');
      requireWritable(settings, exitCodes.createUserReadonly);
      if (!settings.get('includes').includes('accounts')) {
        throw new Exit(exitCodes.createUserNoPlugin, 'the plugin accounts is not in includes; add it');
      }
      const { createUser } = await import('../../maintenance/create-user.ts');
      const user = await completeUser(options, settings);
      await createUser(settings, user);
      if (options.quiet !== true) print(`The account ${user.username} is ready.`);
    });
}

async function completeUser(
  given: UserOptions,
  settings: Settings,
): Promise<{ readonly username: string; readonly password: string }> {
  const { isUserName } = await import('../../maintenance/create-user.ts');
  const isFine = (name: string): boolean => isUserName(settings, name);
  if (given.username !== undefined && isFine(given.username) && given.password !== undefined && given.password !== '') {
    return { username: given.username, password: given.password };
  }
  const prompt = new Prompt();
  try {
    const username = await askName(prompt, given.username, isFine);
    const password = given.password === undefined || given.password === '' ? await askPassword(prompt) : given.password;
    return { username, password };
  } finally {
    prompt.close();
  }
}

async function askName(prompt: Prompt, given: string | undefined, isFine: (name: string) => boolean): Promise<string> {
  for (let name = given; ; name = (await answer(prompt, 'Username: ')).trim()) {
    if (name === undefined) continue;
    if (isFine(name)) return name;
    printError(
      `${JSON.stringify(name)} is not a valid name: use letters, digits and + . @ _ -, and a letter or digit first`,
    );
  }
}

async function askPassword(prompt: Prompt): Promise<string> {
  for (;;) {
    const password = await answer(prompt, 'Password: ', true);
    // A file need not repeat the password.
    const repeated = await prompt.ask('Repeat the password: ', { isSecret: true });
    if (repeated === undefined && prompt.isTerminal) throw noInput();
    if (password === '') printError('The password must not be empty.');
    else if (repeated === undefined || repeated === password) return password;
    else printError('The two passwords differ.');
  }
}

async function answer(prompt: Prompt, question: string, isSecret = false): Promise<string> {
  const given = await prompt.ask(question, { isSecret });
  if (given === undefined) throw noInput();
  return given;
}

function noInput(): Exit {
  return new Exit(exitCodes.createUserNoInput, 'the input ended; nothing was done');
}
