// `coffer send-email`: sends a test mail.
import { Command } from 'commander';
import { isMailbox } from '../../base/mail-addresses.ts';
import { loadWith, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

const examples = `
Uses mail.host, mail.port, mail.tls, mail.username, mail.password, mail.default_sender and the other mail settings.

Example:
  coffer send-email zoe@example.org
`;

export function sendEmailCommand(): Command {
  return new Command('send-email')
    .description('send a test mail')
    .argument('<recipient>', 'e-mail address')
    .addHelpText('after', examples)
    .action(async (recipient: string, _options, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const { sendTestMail } = await import('../../maintenance/send-email.ts');
      if (!isMailbox(recipient)) throw new Exit(exitCodes.usage, `${recipient} is not an e-mail address`);
      await sendTestMail(loadWith(options, {}, { purpose: 'other' }), recipient);
      if (options.quiet !== true) print(`Sent a mail to ${recipient}.`);
    });
}
