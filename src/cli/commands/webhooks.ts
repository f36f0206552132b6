// `coffer webhooks`: what waits to be delivered and what was given up.
import { Command } from 'commander';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface WebhookOptions extends CommonOptions {
  readonly retry?: string;
  readonly forget?: string;
}

const examples = `
Deliveries that a receiver has not taken in all of their attempts are kept until they are retried or forgotten. What is
retried goes to the end of its outbox; a running service finds it there within moments (the parameter poll).

Examples:
  coffer webhooks                   list what waits and what was given up, and why
  coffer webhooks --retry partner   deliver what was given up to the listener partner after all
`;

/** The command. */
export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('list undelivered webhook requests, and retry or delete them')
    .option('--retry <listener>', 'put what was given up back to be delivered')
    .option('--forget <listener>', 'delete what was given up')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<WebhookOptions>();
      const { emptyWebhookDeadLetters, reviewWebhooks } = await import('../../app/webhook-maintenance.ts');
      const settings = loadDurable(options);
      const { retry, forget } = options;
      if (retry !== undefined && forget !== undefined) throw new Exit(exitCodes.usage, 'either retry or forget');
      const name = retry ?? forget;
      if (name !== undefined) {
        print(String(await emptyWebhookDeadLetters(settings, { name, retry: retry !== undefined })));
        return;
      }
      const counts = await reviewWebhooks(settings);
      if (counts.size === 0) print('No webhooks: event_listeners names no listener whose use is webhook.');
      for (const [listener, { pending, dead, reason }] of counts) {
        if (pending + dead === 0) print(`${listener}: no delivery waits, and none was given up`);
        else
          print(`${listener}: ${pending} waiting, ${dead} given up${reason === undefined ? '' : ` (last: ${reason})`}`);
      }
    });
}
