// `coffer send-email`: tests the settings of mail by sending one.
import { Command } from 'commander';
import { loadWith, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

const examples = `
Settings: mail.host, mail.port, mail.tls, mail.username, mail.password, mail.default_sender and the others of mail.

Example:
  coffer send-email zoe@example.org
`;

/** The command. */
export function sendEmailCommand(): Command {
  return new Command('send-email')
    .description('send a mail, to test the settings of mail')
    .argument('<recipient>', 'an e-mail address')
    .addHelpText('after', examples)
    .action(async (recipient: string, _options, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const { isRecipient, sendTestMail } = await import('../../app/send-email.ts');
      if (!isRecipient(recipient)) throw new Exit(exitCodes.usage, `${recipient} is no e-mail address`);
      await sendTestMail(loadWith(options, {}, { purpose: 'other' }), recipient);
      if (options.quiet !== true) print(`A mail to ${recipient} is on its way.`);
    });
}
