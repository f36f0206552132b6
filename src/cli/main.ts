// The command line: one program, one file per command. A command returns on success and throws on failure.
import { Command, CommanderError } from 'commander';
import { SettingsError } from '../settings/problems.ts';
import { readVersion } from '../settings/version.ts';
import { attachmentsCleanCommand } from './commands/attachments-clean.ts';
import { checkCommand } from './commands/check.ts';
import { copyCommand } from './commands/copy.ts';
import { createUserCommand } from './commands/create-user.ts';
import { deleteCollectionCommand } from './commands/delete-collection.ts';
import { exportCommand } from './commands/export.ts';
import { flushCacheCommand } from './commands/flush-cache.ts';
import { importCommand } from './commands/import.ts';
import { initCommand } from './commands/init.ts';
import { migrateCommand } from './commands/migrate.ts';
import { purgeDeletedCommand } from './commands/purge-deleted.ts';
import { indexesCommand } from './commands/indexes.ts';
import { rebuildQuotasCommand } from './commands/rebuild-quotas.ts';
import { resyncCommand } from './commands/resync.ts';
import { sendEmailCommand } from './commands/send-email.ts';
import { startCommand } from './commands/start.ts';
import { typesCommand } from './commands/types.ts';
import { versionCommand } from './commands/version.ts';
import { webhooksCommand } from './commands/webhooks.ts';
import { withCommonOptions, withConfig, type CommonOptions } from './common.ts';
import { Exit, exitCodes } from './exit-codes.ts';
import { printError, tolerateOutputFailures } from './terminal.ts';

const examples = `
Examples:
  coffer start                            run at http://127.0.0.1:8888/v1/ with data in ./data
  coffer init                             write config/coffer.ini with comments and new secrets
  coffer start --config my.toml           run with a configuration file
  SVC_READONLY=true coffer start          set any setting by an environment variable
  coffer help start                       show the help of a command
`;

function createProgram(): Command {
  const program = new Command('coffer')
    .description('A durable, permissioned HTTP/JSON store that speaks the Kinto protocol.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show the help of a command')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', examples);
  withCommonOptions(program);
  const commands = [
    startCommand(),
    initCommand(),
    checkCommand(),
    migrateCommand(),
    versionCommand(),
    flushCacheCommand(),
    purgeDeletedCommand(),
    copyCommand(),
    exportCommand(),
    importCommand(),
    resyncCommand(),
    deleteCollectionCommand(),
    attachmentsCleanCommand(),
    rebuildQuotasCommand(),
    indexesCommand(),
    createUserCommand(),
    sendEmailCommand(),
    webhooksCommand(),
    typesCommand(),
  ];
  for (const command of commands) {
    withCommonOptions(command).helpOption('-h, --help', 'show this help').exitOverride();
    program.addCommand(command);
  }
  return program.exitOverride();
}

/** Runs the command line and returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  tolerateOutputFailures();
  let options: CommonOptions = {};
  try {
    const program = createProgram();
    program.hook('preAction', (_program, command) => {
      options = command.optsWithGlobals<CommonOptions>();
    });
    await program.parseAsync(withoutUnknownTopic(program, args), { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    return report(error, options);
  }
}

/** Drops `help` before an unknown command, for which Commander prints its general help. The command itself is refused. */
function withoutUnknownTopic({ commands }: Command, args: readonly string[]): readonly string[] {
  const [first, topic = ''] = args;
  const isKnown = /^(?:$|-|help$)/.test(topic) || commands.some((command) => command.name() === topic);
  return first === 'help' && !isKnown ? args.slice(1) : args;
}

function report(error: unknown, options: CommonOptions): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (error instanceof Exit) {
    if (error.message !== '') printError(`coffer: ${withConfig(error.message, options)}`);
    return error.code;
  }
  if (error instanceof SettingsError) {
    printError(error.message);
    return exitCodes.failed;
  }
  printError(`coffer: ${withConfig(describeError(error, options.debug === true), options)}`);
  return exitCodes.failed;
}

function describeError(error: unknown, withStack: boolean): string {
  if (!(error instanceof Error)) return String(error);
  if (withStack && error.stack !== undefined) return error.stack;
  // The message of a driver names the user, the file or the host.
  const detail = error.cause instanceof Error ? error.cause.message : '';
  return error.message.includes(detail) ? error.message : `${error.message} (${detail})`;
}
