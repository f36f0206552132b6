// Settings of the plugin. The mail server has settings of the service.
import { inSection, setting } from '../../settings/definition.ts';
import { integer } from '../../settings/readers.ts';

export const emailerSettings = inSection('Mails about changes', {
  'emailer.max_hooks': setting(integer({ min: 1 }), 'Maximum number of hooks of a bucket or a collection.', {
    default: 20,
  }),
  'emailer.max_recipients': setting(
    integer({ min: 1 }),
    'Maximum number of recipients of a hook, and of addresses of one mail; further group members get no mail.',
    { default: 100 },
  ),
  'emailer.max_waiting': setting(
    integer({ min: 1 }),
    'Maximum number of queued events, and of queued mails. Above it, those of the user with the most are dropped and logged.',
    { default: 1000 },
  ),
});
