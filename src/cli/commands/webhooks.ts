// `coffer webhooks`: lists waiting and failed deliveries, and retries or deletes failed ones.
import { Command } from 'commander';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface WebhookOptions extends CommonOptions {
  readonly retry?: string;
  readonly forget?: string;
}

const examples = `
A delivery whose attempts all failed is kept until it is retried or deleted. A retried one goes to the end of the queue of
its listener, where a running service finds it at its next poll.

Examples:
  coffer webhooks                    list waiting and failed deliveries with the last error
  coffer webhooks --retry partner    retry the failed deliveries of the listener partner
  coffer webhooks --forget partner   delete them
`;

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('list undelivered webhooks, and retry or delete failed ones')
    .option('--retry <listener>', 'retry failed deliveries')
    .option('--forget <listener>', 'delete failed deliveries')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<WebhookOptions>();
      const { emptyWebhookDeadLetters, reviewWebhooks } = await import('../../maintenance/webhooks.ts');
      const settings = loadDurable(options);
      const { retry, forget } = options;
      if (retry !== undefined && forget !== undefined)
        throw new Exit(exitCodes.usage, 'give either --retry or --forget');
      const name = retry ?? forget;
      if (name !== undefined) {
        const count = await emptyWebhookDeadLetters(settings, { name, retry: retry !== undefined });
        const deliveries = `${count} ${count === 1 ? 'delivery' : 'deliveries'} of ${name}`;
        print(
          `${deliveries} ${retry === undefined ? (count === 1 ? 'was deleted' : 'were deleted') : 'will be retried'}.`,
        );
        return;
      }
      const counts = await reviewWebhooks(settings);
      if (counts.size === 0) print('No webhooks: event_listeners names no listener whose use is webhook.');
      for (const [listener, { pending, dead, reason }] of counts) {
        if (pending + dead === 0) print(`${listener}: no waiting or failed deliveries`);
        else
          print(`${listener}: ${pending} waiting, ${dead} failed${reason === undefined ? '' : ` (last: ${reason})`}`);
      }
    });
}
